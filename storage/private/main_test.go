//go:build linux || darwin

package private

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // it would print a line for each try to reach a server that was killed
	if dir := os.Getenv(writerFolder); dir != "" {
		os.Exit(writeForever(dir))
	}
	goleak.VerifyTestMain(m)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

const (
	// patience bounds every wait for what should happen soon.
	patience = 30 * time.Second
	// backWithin is how long the service may be away after a kill.
	backWithin = 5 * time.Second
)

// testServer is a server that is open until the test ends.
type testServer struct {
	*Server
	*testing.T
	stop func() // closes it; may be called again
}

// openServer opens a server in a folder and runs it.
func openServer(t *testing.T, dir string, change func(*Options)) *testServer {
	t.Helper()
	o := Options{Dir: dir, MaxMemory: 64 << 20, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(&o)
	}
	server, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Run(context.Background()) }()
	stop := func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		done <- nil
	}
	t.Cleanup(stop)
	return &testServer{server, t, stop}
}

// client connects to a server as the store does.
func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	c, err := connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func connect(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.MaxRetries, o.DialerRetries, o.DisableIdentity = -1, 1, true
	o.PoolSize = 10_000 // after as many failures the pool would wait for a second
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o), nil
}

// set stores a value that get finds.
func (s *testServer) set(key, value string) {
	s.Helper()
	if err := client(s.T, s.URL()).Set(s.Context(), key, value, 0).Err(); err != nil {
		s.Fatal(err)
	}
}

func (s *testServer) get(key string) string {
	s.Helper()
	return client(s.T, s.URL()).Get(s.Context(), key).Val()
}

// setting is one that Redis has now.
func (s *testServer) setting(name string) string {
	s.Helper()
	values, err := client(s.T, s.URL()).ConfigGet(s.Context(), name).Result()
	if err != nil {
		s.Fatal(err)
	}
	return values[name]
}

// eventually asks until there is no error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("gave up: %v", err)
		}
	}
}

// awaitUp waits until the server serves.
func (s *testServer) awaitUp() {
	s.Helper()
	eventually(s.T, func() error {
		if status := s.Status(); !status.Up {
			return fmt.Errorf("not up: %s", status.Why)
		}
		return nil
	})
}

// script is a program of the test's own in place of redis-server.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redis-server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// realProgram is the redis-server that is on PATH.
func realProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("%v: scripts/test installs what the tests need", err)
	}
	return path
}
