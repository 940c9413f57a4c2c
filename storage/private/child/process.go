// Package child runs a redis-server as a child process that ends with this one, also when this one is killed.
//
// Linux sees to that itself (Pdeathsig). Other Unix systems have no such thing: there a small shell waits for our end and
// kills the child then. What the child prints is kept in memory, its last lines only, so that a full disk cannot hide why
// it ended.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Command is what to run.
type Command struct {
	Program string
	Args    []string
	Dir     string       // the working directory
	Socket  string       // the unix socket on which it will answer; empty if it has none
	Files   []*os.File   // handed down, as descriptors 3 and on
	Line    func(string) // called with each line it prints, one at a time; may be nil
}

// Process is a running redis-server, or one that has ended.
type Process struct {
	cmd     *exec.Cmd
	socket  string
	words   tail
	started time.Time
	done    chan struct{}
	ended   time.Time // this and end are set before done is closed
	end     error
}

// Start runs a command. The process leads a group of its own, so that a terminal's Ctrl-C does not end it before we have
// drained, and so that it can be killed with all that it forked.
func Start(c Command) (*Process, error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if c.Socket != "" {
		_ = os.Remove(c.Socket) // a killed server leaves it behind
	}
	p := &Process{socket: c.Socket, started: time.Now(), done: make(chan struct{})}
	p.words.line = c.Line
	p.cmd = exec.Command(c.Program, c.Args...)
	p.cmd.Dir, p.cmd.ExtraFiles, p.cmd.SysProcAttr = c.Dir, c.Files, attributes()
	p.cmd.Stdout, p.cmd.Stderr = input, input
	started := make(chan error)
	go p.run(started, input, output)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Program, err)
	}
	return p, nil
}

// run starts the process and waits for it on one thread: the kernel sends Pdeathsig when the thread that started the child
// ends, so this thread must live as long as the child. It is not unlocked, and so ends with the goroutine.
func (p *Process) run(started chan<- error, input, output *os.File) {
	runtime.LockOSThread()
	defer output.Close()
	err := p.cmd.Start()
	_ = input.Close() // the child's copy is the last one, so that reading ends with it
	if err != nil {
		started <- err
		return
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.words.readFrom(output)
	}()
	release, err := bind(p.cmd.Process.Pid)
	if err == nil {
		close(started)
	} else {
		_ = p.cmd.Process.Kill()
	}
	p.end = p.cmd.Wait()
	p.ended = time.Now()
	release()
	// A fork that rewrites the append-only file outlives a killed Redis by seconds, and holds what was handed down.
	killGroup(p.cmd.Process.Pid)
	<-read
	close(p.done)
	if err != nil {
		started <- err
	}
}

// Pid is the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Lived is how long the process has been running, or ran.
func (p *Process) Lived() time.Duration {
	if p.Ended() {
		return p.ended.Sub(p.started)
	}
	return time.Since(p.started)
}

// Done is closed once the process and all that it forked have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended tells whether Done is closed.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill ends the process as a crash would, and returns when it is gone. It may be called again.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

// Stop ends the process in good order, and kills it if that takes longer than patience. It returns when it is gone, and
// fails if that was not in good order.
func (p *Process) Stop(patience time.Duration) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	// The command works at once, the signal within a tenth of a second.
	if !p.shutDown() && p.cmd.Process.Signal(syscall.SIGTERM) != nil {
		p.Kill()
	}
	select {
	case <-p.done:
	case <-timeout.C:
		p.Kill()
	}
	if p.end != nil {
		return p.Err()
	}
	return nil
}

// Err says how a process that has ended did so, with its last words. It is an [EndError].
func (p *Process) Err() error {
	return &EndError{Program: filepath.Base(p.cmd.Path), State: p.cmd.ProcessState, Words: p.words.last(), err: p.end}
}

// EndError is the end of a process that nobody asked to end.
type EndError struct {
	Program string
	State   *os.ProcessState
	Words   []string
	err     error
}

// Killed tells whether a signal ended the process that it could not see coming.
func (e *EndError) Killed() bool {
	var exit *exec.ExitError
	if !errors.As(e.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func (e *EndError) Error() string {
	text := fmt.Sprintf("%s ended (%v)", e.Program, e.State)
	if words := telling(e.Words); len(words) > 0 && !e.Killed() {
		text += ": " + strings.Join(words, " / ")
	}
	return text
}

func (e *EndError) Unwrap() error { return e.err }
