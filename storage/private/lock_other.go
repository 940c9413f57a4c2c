//go:build !linux && !darwin

package private

import (
	"fmt"
	"os"
	"runtime"
)

func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("a private Redis runs on Linux and macOS, not on %s: use a Redis that runs elsewhere", runtime.GOOS)
}

func unlock(*os.File) {}

func diskSpace(string) (free, size int64, err error) { return 0, 0, nil }
