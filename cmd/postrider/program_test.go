package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
)

// program is Postrider as a process of its own.
type program struct {
	*testing.T
	cmd            *exec.Cmd
	output, errors watchedOutput
	ended          chan struct{}
}

// startProgram runs a command line; environ is added to the test's own.
func startProgram(t *testing.T, environ []string, args ...string) *program {
	t.Helper()
	return startProgramTo(t, nil, environ, args...)
}

// startProgramTo is startProgram with an output of the test's own, if it is not nil.
func startProgramTo(t *testing.T, output *os.File, environ []string, args ...string) *program {
	t.Helper()
	p := &program{T: t, cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), environ...), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.errors
	if output != nil {
		p.cmd.Stdout = output
	}
	if _, err := p.cmd.StdinPipe(); err != nil { // for endWithParent
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // wait returns the status
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// startServer runs a server on a free port and waits until it says where.
func startServer(t *testing.T, args ...string) (p *program, addr string) {
	t.Helper()
	p = startProgram(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	eventually(t, func() error {
		_, rest, found := strings.Cut(p.errors.String(), "listening on http://")
		if addr, _, _ = strings.Cut(rest, ";"); !found || addr == "" {
			return fmt.Errorf("the server does not listen: %s", p.errors.String())
		}
		return nil
	})
	return p, addr
}

func (p *program) signal(s os.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// wait waits for the end and returns the exit status, as a shell would show it.
func (p *program) wait() int {
	p.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.Fatalf("still running: %s", p.errors.String())
		return 0
	}
}

// watchedOutput can be read while it is written.
type watchedOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *watchedOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *watchedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// awaitClosed waits until nobody listens any more: the drain has begun.
func awaitClosed(t *testing.T, addr string) {
	t.Helper()
	eventually(t, func() error {
		connection, err := net.Dial("tcp", addr)
		if err != nil {
			return nil
		}
		_ = connection.Close()
		return errNotYet
	})
}

// slowEndpoint answers 200 once released.
func slowEndpoint(t *testing.T) (e *endpoint, release func()) {
	released := make(chan struct{})
	e = newEndpoint(t, func(push) int { <-released; return 200 })
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	return e, release
}

func TestTerminationDrains(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	server, addr := startServer(t, "--redis-url", redis.URL())
	e, release := slowEndpoint(t)
	c := client(t, addr)
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", e.url)
	c.run("publish", "orders", "slow")
	e.next()
	c.run("topics", "create", "quiet")
	c.run("subscriptions", "create", "idle", "--topic", "quiet")
	before := channels(t, redis)
	answer := make(chan string, 1)
	go func() { answer <- c.run("pull", "idle", "-o", "json") }()
	eventually(t, func() error {
		if channels(t, redis) == before {
			return errNotYet
		}
		return nil
	})

	server.signal(syscall.SIGTERM)
	if got := <-answer; got != "[]\n" {
		t.Errorf("the waiting pull got %s", got)
	}
	awaitClosed(t, addr)
	release()
	if status := server.wait(); status != 0 {
		t.Errorf("exit status %d: %s", status, server.errors.String())
	}
	store, err := redisstream.Open(t.Context(), redis.URL(), redisstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if s := stats(t, store, "billing"); s.Acked != 1 || s.Outstanding != 0 {
		t.Errorf("the push that was under way: %+v", s)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	server, addr := startServer(t)
	e, _ := slowEndpoint(t)
	c := client(t, addr)
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", e.url)
	c.run("publish", "orders", "slow")
	e.next()
	server.signal(syscall.SIGTERM)
	awaitClosed(t, addr)
	server.signal(syscall.SIGINT)
	if status := server.wait(); status != 130 {
		t.Errorf("exit status %d: %s", status, server.errors.String())
	}
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = redis.URL() })
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	before := channels(t, redis)
	pull := startProgram(t, c.environ, "pull", "billing", "--wait")
	eventually(t, func() error {
		if channels(t, redis) == before {
			return errNotYet
		}
		return nil
	})
	pull.signal(os.Interrupt)
	if status := pull.wait(); status != 130 || pull.errors.String() != "" {
		t.Errorf("exit status %d: %s", status, pull.errors.String())
	}
}
