package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"postrider/cmd/postrider/bench"
	"postrider/storage/private"
	"postrider/storage/private/child"
)

// benchRig is all that a bench needs beside the server that it measures, and that server unless it was named.
type benchRig struct {
	options  bench.Options
	teardown []func() error // run in reverse order
}

// newBenchRig starts what the flags leave to it.
func newBenchRig(ctx context.Context, flags benchFlags) (_ *benchRig, err error) {
	r := &benchRig{options: bench.Options{
		Server: flags.server, Project: flags.project,
		Runs: flags.runs, Messages: flags.messages, Time: time.Duration(flags.seconds * float64(time.Second)),
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	floor, err := r.start(ctx, flags.program, "bench", "floor", "--listen", flags.receiver)
	if err != nil {
		return nil, err
	}
	r.options.Floor, r.options.FloorCPU = floor.url, bench.ProcessCPU(floor.Pid())
	if flags.server == "" {
		return r, r.startServer(ctx, flags)
	}
	if r.options.Server, err = serverURL(flags.server); err != nil || flags.redisURL == "" {
		return r, err
	}
	return r, r.connect(flags.redisURL)
}

// startServer runs a private Redis, and a server on it.
func (r *benchRig) startServer(ctx context.Context, flags benchFlags) error {
	dir, err := os.MkdirTemp("", "postrider-bench-")
	if err != nil {
		return err
	}
	r.onClose(func() error { return os.RemoveAll(dir) })
	redis, err := private.Open(ctx, private.Options{Dir: dir, AppendFsync: private.FsyncEverySec, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	r.onClose(redis.Close)
	if err := r.connect(redis.URL()); err != nil {
		return err
	}
	arguments := []string{"serve", "--listen", "127.0.0.1:0", "--redis-url", redis.URL()}
	if flags.profile != "" {
		arguments = append([]string{"bench", "server"}, arguments[1:]...)
	}
	server, err := r.start(ctx, flags.program, arguments...)
	if err != nil {
		return err
	}
	r.options.Server, r.options.ServerCPU, r.options.Fsync = server.url, bench.ProcessCPU(server.Pid()), flags.fsync
	if flags.profile != "" {
		r.options.Profile = profiles{dir: flags.profile, url: server.profiles}.begin
	}
	return nil
}

// connect makes the Redis behind the server known to the bench.
func (r *benchRig) connect(url string) error {
	redis, err := benchRedis(url)
	if err != nil {
		return err
	}
	r.options.Redis = redis
	r.onClose(redis.Close)
	return nil
}

// benchChild is a process of ours that serves.
type benchChild struct {
	*child.Process
	url, profiles string
}

// The bounds on a child's start and on its stop.
const (
	childStartTime = 10 * time.Second
	childStopTime  = 10 * time.Second
)

// start runs a command line of ours and waits until it says where it listens.
func (r *benchRig) start(ctx context.Context, program string, arguments ...string) (*benchChild, error) {
	listening := make(chan benchChild, 1)
	process, err := child.Start(child.Command{Program: program, Args: arguments, Line: func(line string) {
		if c, ok := parseListening(line); ok {
			select {
			case listening <- c:
			default: // it has been told
			}
		}
	}})
	if err != nil {
		return nil, err
	}
	r.onClose(func() error { return process.Stop(childStopTime) })
	ctx, cancel := context.WithTimeout(ctx, childStartTime)
	defer cancel()
	select {
	case c := <-listening:
		c.Process = process
		return &c, nil
	case <-process.Done():
		return nil, process.Err()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s %s does not listen: %w", program, arguments[0], context.Cause(ctx))
	}
}

// listeningOn is what a server logs when it listens, and servingProfiles what "bench server" prints before.
const (
	listeningOn     = "listening on http://"
	servingProfiles = "profiles on http://"
)

// parseListening finds the addresses in a line that says them.
func parseListening(line string) (benchChild, bool) {
	_, rest, found := strings.Cut(line, listeningOn)
	address, _, _ := strings.Cut(rest, ";")
	address, profiles, _ := strings.Cut(address, ", "+servingProfiles)
	return benchChild{url: "http://" + address, profiles: "http://" + profiles}, found
}

func (r *benchRig) onClose(do func() error) { r.teardown = append(r.teardown, do) }

// close ends what was started, the last first.
func (r *benchRig) close() error {
	var failures []error
	for len(r.teardown) > 0 {
		last := r.teardown[len(r.teardown)-1]
		r.teardown = r.teardown[:len(r.teardown)-1]
		failures = append(failures, last())
	}
	return errors.Join(failures...)
}
