package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait in this package. It is long because test machines stall; nothing sleeps for it.
const patience = 30 * time.Second

// process is one running redis-server.
type process struct {
	cmd  *exec.Cmd
	log  string        // what the process printed goes to this file
	done chan struct{} // closed once the process has been waited for
}

// binary is where redis-server is. Without it tests fail rather than skip.
func binary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("redistest: redis-server is not on PATH (%v). scripts/test installs what the tests need.", err)
	}
	return path
}

// launch runs a program with its output going to dir/redis.log.
func launch(path, dir string, args []string) (*process, error) {
	p := &process{log: filepath.Join(dir, "redis.log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	p.cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// run starts the process and waits for it on one thread: the kernel sends Pdeathsig when the thread that started the child
// ends, so this thread must live as long as the child. It is not unlocked, and so ends with the goroutine.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // a killed server is what tests ask for
	close(p.done)
}

// kill ends the process as a crash would, and returns when it is gone. It may be called again.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks the process to shut down, and kills it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.kill()
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// lastWords is the end of the process's log, for a failure message.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
