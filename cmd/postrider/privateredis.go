package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// privateRedis is a redis-server of the demonstration's own, on a socket in a temporary folder. It keeps nothing.
type privateRedis struct {
	dir, socket string
	cmd         *exec.Cmd
	done        chan struct{} // closed once the process has ended
}

const (
	redisStartTime = 10 * time.Second
	redisStopTime  = 5 * time.Second
	redisPoll      = 5 * time.Millisecond
)

// startPrivateRedis runs the redis-server that is on PATH and waits until it listens.
func startPrivateRedis(ctx context.Context) (_ *privateRedis, err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("redis-server is not on PATH")
	}
	dir, err := os.MkdirTemp("", "postrider-demo-")
	if err != nil {
		return nil, err
	}
	r := &privateRedis{dir: dir, socket: filepath.Join(dir, "redis.sock"), done: make(chan struct{})}
	r.cmd = exec.Command(path, "--port", "0", "--unixsocket", r.socket, "--unixsocketperm", "700", "--dir", dir,
		"--daemonize", "no", "--save", "", "--appendonly", "no", "--maxmemory", "256mb", "--maxmemory-policy", "noeviction")
	r.cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	go r.run(started) // ends with the process, which stop waits for
	if err := <-started; err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := r.awaitSocket(ctx); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

// run starts the process and waits for it on one thread: the kernel ends the child when the thread that started it ends.
// The thread is not unlocked, and so ends with this goroutine.
func (r *privateRedis) run(started chan<- error) {
	runtime.LockOSThread()
	err := r.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = r.cmd.Wait() // how it ended is not worth telling: it was told to, or awaitSocket says so
	close(r.done)
}

func (r *privateRedis) awaitSocket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisStartTime)
	defer cancel()
	tick := time.NewTicker(redisPoll)
	defer tick.Stop()
	for {
		connection, err := net.Dial("unix", r.socket)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-r.done:
			return errors.New("redis-server ended at once")
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", err)
		case <-tick.C:
		}
	}
}

func (r *privateRedis) url() string { return "unix://" + r.socket }

// stop ends the process and removes its folder.
func (r *privateRedis) stop() error {
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-r.done:
	case <-time.After(redisStopTime):
		_ = r.cmd.Process.Kill()
		<-r.done
	}
	return os.RemoveAll(r.dir)
}
