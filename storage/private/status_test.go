//go:build linux || darwin

package private

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postrider/storage/private/child"
)

// diesOf lets a redis-server die only by hand: there is no Run that would start it again.
func diesOf(t *testing.T, dir string, signal syscall.Signal) (*Server, string) {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if status := s.Status(); !status.Up || status.Why != "" || len(status.Warnings) > 0 {
		t.Errorf("open, but %+v", status)
	}
	p, _ := s.present()
	if err := syscall.Kill(p.Pid(), signal); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	status := s.Status()
	if status.Up {
		t.Error("up after its death")
	}
	return s, status.Why
}

func TestStatusTellsOfAKill(t *testing.T) {
	t.Parallel()
	s, why := diesOf(t, t.TempDir(), syscall.SIGKILL)
	if why != "redis-server ended (signal: killed), by somebody" && !strings.Contains(why, "out of memory") {
		t.Error(why)
	}
	s.kills = -1 // as if the kernel had killed somebody meanwhile
	if why := s.Status().Why; !strings.Contains(why, "ran out of memory") {
		t.Error(why)
	}
}

func TestStatusTellsOfOtherSignals(t *testing.T) {
	t.Parallel()
	if _, why := diesOf(t, t.TempDir(), syscall.SIGTERM); !strings.HasPrefix(why, "redis-server ended (exit status 0)") {
		t.Error(why)
	}
	if _, why := diesOf(t, t.TempDir(), syscall.SIGSEGV); !strings.HasPrefix(why, "redis-server ended (signal: segmentation fault") {
		t.Error(why)
	}
}

// log is what was logged, by line.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.b.String()), "\n")
}

// A file that Redis refuses and that cannot be repaired keeps it from starting, until somebody mends it.
func TestStatusTellsOfARefusedFile(t *testing.T) {
	t.Parallel()
	var l log
	dir := t.TempDir()
	s := openServer(t, dir, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&l, nil)) })
	s.set("first", "1")
	s.set("last", "2")
	path := filepath.Join(dir, "redis/appendonlydir/appendonly.aof.1.incr.aof")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(whole, []byte("$5\r\nfirst"), []byte("!5\r\nfirst"), 1)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := s.present()
	p.Kill()
	died := time.Now()
	eventually(t, func() error {
		status := s.Status()
		if !strings.Contains(status.Why, "Bad file format") || !strings.Contains(status.Why, "it is started again in") {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
	eventually(t, func() error {
		if tries := s.pid(); tries == p.Pid() {
			return fmt.Errorf("not tried again")
		}
		return nil
	})
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s.awaitUp()
	if got := s.get("last"); got != "2" {
		t.Errorf("found %q", got)
	}
	if lines := l.lines(); len(lines) > 2+int(time.Since(died)/time.Second) {
		t.Errorf("%d lines in %v: %q", len(lines), time.Since(died), lines)
	}
	s.stop()
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, Options{Dir: dir}, "Bad file format", path, "is damaged at byte")
}

func (s *Server) pid() int {
	p, _ := s.present()
	return p.Pid()
}

// A Redis with much data answers late. Until then it is not up, and Close need not wait for it.
func TestStatusWhileLoading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openServer(t, dir, nil)
	s.set("k", "v")
	s.stop()
	slow := script(t, `
[ "$1" = --version ] && exec `+realProgram(t)+` --version
exec `+realProgram(t)+` "$@" --key-load-delay 1000000 --loading-process-events-interval-bytes 1024`)
	rewriteOnce(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() {
		_, err := Open(ctx, Options{Dir: dir, Program: slow, Logger: slog.New(slog.DiscardHandler)})
		opened <- err
	}()
	eventually(t, func() error {
		if _, err := os.Stat(filepath.Join(dir, "redis/redis.sock")); err != nil {
			return err
		}
		return nil
	})
	cancel()
	if err := <-opened; err == nil || !strings.Contains(err.Error(), "did not answer yet") {
		t.Errorf("got %v", err)
	}
	if got := openServer(t, dir, nil).get("k"); got != "v" {
		t.Errorf("found %q", got)
	}
}

// rewriteOnce gives the folder a base file with many keys.
func rewriteOnce(t *testing.T, dir string) {
	t.Helper()
	s := openServer(t, dir, nil)
	for i := range 20 {
		s.set(fmt.Sprint("key", i), payload)
	}
	c := client(t, s.URL())
	if err := c.BgRewriteAOF(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if info := c.Info(t.Context(), "persistence").Val(); strings.Contains(info, "aof_rewrite_in_progress:1") {
			return fmt.Errorf("still rewriting")
		}
		return nil
	})
	s.stop()
}

func TestStatusNamesTheDeathBeforeWhileLoading(t *testing.T) {
	t.Parallel()
	program := realProgram(t)
	p, err := child.Start(child.Command{Program: program, Args: []string{"--port", "0", "--unixsocket", filepath.Join(t.TempDir(), "s")}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	s := &Server{child: p, why: "redis-server ended (signal: killed)", folder: &folder{}}
	if got := s.Status(); got.Up || !strings.HasSuffix(got.Why, "s; the one before: redis-server ended (signal: killed)") {
		t.Errorf("%+v", got)
	}
}

func TestSeldom(t *testing.T) {
	t.Parallel()
	var l log
	s := seldom{log: slog.New(slog.NewTextHandler(&l, nil))}
	for range 1000 {
		s.warn("again")
	}
	if lines := l.lines(); len(lines) != 1 {
		t.Errorf("%d lines", len(lines))
	}
	s.last = s.last.Add(-time.Second)
	s.warn("and again")
	if lines := l.lines(); len(lines) != 2 {
		t.Errorf("%d lines", len(lines))
	}
}
