package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asCommand is a program that runs this test binary as Postrider. Its standard input never ends, as endWithParent wants it.
func asCommand(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	pipe, program := filepath.Join(dir, "pipe"), filepath.Join(dir, "postrider")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexport %s=1\nexec '%s' \"$@\" 0<>'%s'\n", asProgram, os.Args[0], pipe)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

func tinyBench(program string) benchFlags {
	return benchFlags{
		project: defaultProject, receiver: "127.0.0.1:0", fsync: []string{"always"},
		runs: 1, messages: 200, seconds: 0.05, program: program,
	}
}

// The whole bench as `make bench` runs it: a Redis, a server and the floor in processes of their own.
func TestBenchStartsAllItNeeds(t *testing.T) {
	t.Parallel()
	flags := tinyBench(asCommand(t))
	flags.profile = filepath.Join(t.TempDir(), "profiles")
	var out, errors bytes.Buffer
	if err := runBench(t.Context(), process{out: &out, err: &errors}, flags); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"Redis 7", "medians of 1 of 1 runs, at most 0.05s and 200 messages", "always  single publishes", "server CPU a push",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in\n%s", part, &out)
		}
	}
	if errors.Len() > 0 {
		t.Errorf("progress although nobody watches: %s", &errors)
	}
	for _, name := range []string{"singles", "batches", "pulls", "pushes"} {
		if info, err := os.Stat(filepath.Join(flags.profile, name+".prof")); err != nil || info.Size() == 0 {
			t.Errorf("profile of %s: %v", name, err)
		}
	}
}

func TestBenchAimsAtAServer(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	flags := tinyBench(asCommand(t))
	flags.server = a.Addr()
	var out bytes.Buffer
	if err := runBench(t.Context(), process{out: &out, err: io.Discard}, flags); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "-      single publishes") || strings.Contains(out.String(), "Redis time") {
		t.Errorf("printed\n%s", &out)
	}
	if got := client(t, a.Addr()).run("topics", "list"); strings.Contains(got, "bench-") {
		t.Errorf("left behind: %s", got)
	}
}

// Ctrl-C in the middle of the first measurement of the server: the table would be empty, so there is none.
func TestBenchIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client has gone
		cancel(interruption{syscall.SIGINT})
		<-r.Context().Done()
	}))
	defer s.Close()
	flags := tinyBench(asCommand(t))
	flags.server = s.URL
	var out bytes.Buffer
	err := runBench(ctx, process{out: &out, err: io.Discard}, flags)
	if err == nil || !strings.Contains(err.Error(), "interrupt") || out.Len() > 0 {
		t.Errorf("%v, printed %q", err, &out)
	}
}

func TestBenchRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"--redis-url redis://localhost", "--redis-url is for a server that is named by --server"},
		{"--server localhost:1 --fsync always", "--fsync is for a server that is started here"},
		{"--server localhost:1 --profile /tmp", "--profile is for a server that is started here"},
		{"--fsync sometimes", `"sometimes" is none of everysec, always and no`},
		{"--runs 0", "must be positive"},
		{"--seconds -1", "must be positive"},
		{"--project a/b", "project"},
		{"extra", "takes no arguments"},
	} {
		status, _, errors := commandLine{T: t}.try("", append([]string{"bench"}, strings.Fields(c.args)...)...)
		if status != exitUsage || !strings.Contains(errors, c.want) {
			t.Errorf("%s: exit status %d, %s", c.args, status, errors)
		}
	}
}
