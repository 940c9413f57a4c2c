package private

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrInUse is returned by Open while another server has the folder.
var ErrInUse = errors.New("in use")

// The names in the folder.
const (
	lockName      = "lock"
	redisLockName = "redis.lock"
	formatName    = "format"
	redisName     = "redis"
	socketName    = "redis.sock"
)

// orphanPatience is how long to wait for the redis-server of a killed server to end, which takes the kernel milliseconds.
const orphanPatience = 10 * time.Second

// folder is a folder that is ours until it is released.
type folder struct {
	dir       string
	lock      *os.File
	redisLock *os.File
	socket    string
}

// redisDir is where Redis writes.
func (f *folder) redisDir() string { return filepath.Join(f.dir, redisName) }

// claim takes a folder, and makes it ready for a redis-server.
func claim(ctx context.Context, dir string, log *slog.Logger) (_ *folder, err error) {
	f := &folder{dir: dir}
	defer func() {
		if err != nil {
			f.release()
			err = fmt.Errorf("private Redis in %s: %w", dir, err)
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := f.lockServer(); err != nil {
		return nil, err
	}
	if err := f.lockRedis(ctx, log); err != nil {
		return nil, err
	}
	if err := f.checkFormat(); err != nil {
		return nil, err
	}
	if err := f.makeRedisDir(); err != nil {
		return nil, err
	}
	f.removeOldSocket()
	if f.socket, err = chooseSocket(f.redisDir()); err != nil {
		return nil, err
	}
	f.sign()
	return f, nil
}

// release lets the next server in. The files stay: another may have opened them already.
func (f *folder) release() {
	if f.socket != "" {
		removeSocket(f.socket)
	}
	for _, lock := range []*os.File{f.redisLock, f.lock} {
		if lock != nil {
			unlock(lock)
			_ = lock.Close()
		}
	}
}

func (f *folder) open(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(f.dir, name), os.O_RDWR|os.O_CREATE, 0o600)
}

// lockServer fails at once when another server is alive.
func (f *folder) lockServer() error {
	lock, err := f.open(lockName)
	if err != nil {
		return err
	}
	f.lock = lock
	locked, err := tryLock(lock)
	if err != nil {
		return err
	}
	if !locked {
		holder, _ := f.signature()
		return fmt.Errorf("%w by another server%s", ErrInUse, holder)
	}
	return nil
}

// lockRedis waits until no redis-server of an earlier server is left.
func (f *folder) lockRedis(ctx context.Context, log *slog.Logger) error {
	var err error
	if f.redisLock, err = f.open(redisLockName); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, orphanPatience)
	defer cancel()
	for {
		locked, err := tryLock(f.redisLock)
		if locked || err != nil {
			return err
		}
		if killed := endOrphans(f.redisLock); killed > 0 {
			log.Warn("ended what a killed server had left running", "processes", killed, "dir", f.dir)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w by the redis-server of a server that has ended: end it (%w)", ErrInUse, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// makeRedisDir makes the folder in which Redis writes, and keeps others out of one that was copied from a backup.
func (f *folder) makeRedisDir() error {
	if err := os.MkdirAll(f.redisDir(), 0o700); err != nil {
		return err
	}
	return os.Chmod(f.redisDir(), 0o700)
}

// removeLeftovers removes what rewrites of the append-only file leave behind when they are killed. Redis never does.
func (f *folder) removeLeftovers() error {
	left, err := filepath.Glob(filepath.Join(globQuoted(f.redisDir()), "temp-*.*"))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// globQuoted makes filepath.Glob take a path as it is.
func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// sign writes into the lock who holds it, for messages, and where its socket is. It may fail: a full disk is no reason not
// to start.
func (f *folder) sign() {
	host, _ := os.Hostname()
	text := fmt.Sprintf("process %d on %s\n%s\n", os.Getpid(), host, f.socket)
	if f.lock.Truncate(0) == nil {
		_, _ = f.lock.WriteAt([]byte(text), 0)
	}
}

// signature is what the holder of the lock wrote: who it is, in brackets, and its socket.
func (f *folder) signature() (holder, socket string) {
	text, _ := os.ReadFile(f.lock.Name())
	holder, rest, found := strings.Cut(string(text), "\n")
	socket, _, _ = strings.Cut(rest, "\n")
	if found {
		holder = " (" + holder + ")"
	}
	return holder, socket
}
