//go:build linux || darwin

package private

import (
	"errors"
	"os"
	"syscall"
)

// supported tells whether a private Redis can run on this system.
const supported = true

// tryLock tells whether it got the lock on a file. All copies of the descriptor hold it, in whatever process.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlock lets go of a lock for all copies: one may be in a process that is just being started.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// diskSpace is how many bytes of the disk under dir we may still fill, and how many it has.
func diskSpace(dir string) (free, size int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, os.NewSyscallError("statfs "+dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}
