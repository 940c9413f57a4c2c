//go:build !linux && !darwin

package private

import (
	"errors"
	"os"
)

// supported tells whether a private Redis can run on this system.
const supported = false

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) {}

func diskSpace(string) (free, size int64, err error) { return 0, 0, errors.ErrUnsupported }
