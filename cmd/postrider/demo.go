package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"postrider/storage/private"
)

func newDemo(p process) *cobra.Command {
	var length duration
	c := &cobra.Command{
		Use: "demo", Short: "Show the server at work: pushes, refusals, retries, dead letters", GroupID: groupServer, Args: noArgs,
		Long: `Show the server at work, on this machine alone: a server, a push endpoint that refuses some messages, and a publisher,
all in this process and joined by HTTP. Messages are kept in a private Redis if redis-server is on PATH, else in memory.`,
		Example: "  postrider demo\n  postrider demo --for 45s",
	}
	c.Flags().Var(&length, "for", "`TIME` to run; without it until Ctrl-C")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkEnvironment(p.environ); err != nil {
			return err
		}
		ctx := c.Context()
		if length > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(length))
			defer cancel()
		}
		return runDemo(ctx, p)
	}
	return c
}

// demo is a running demonstration.
type demo struct {
	app      *app
	endpoint net.Listener
	session  *session
	events   *events
}

func runDemo(ctx context.Context, p process) error {
	a, place, err := demoApp(ctx, newLogger(p.err, demoConfig))
	if err != nil {
		return err
	}
	d := &demo{app: a, events: newEvents(p.out)}
	if d.endpoint, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return errors.Join(err, a.close())
	}
	d.session, err = newSession(process{out: p.out}, clientFlags{server: a.URL(), project: defaultProject})
	if err != nil {
		return errors.Join(err, a.close(), d.endpoint.Close())
	}
	d.events.introduce(a.URL(), place)
	err = d.run(ctx)
	d.events.summary()
	return err
}

// run runs everything until ctx ends. Each part needs the next, so they stop in this order: the clients, the server, the
// endpoint.
func (d *demo) run(ctx context.Context) error {
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	receiving, stopReceiving := context.WithCancel(context.WithoutCancel(ctx))
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error {
		defer stopServing()
		return d.clients(ctx)
	})
	parts.Go(func() error {
		defer stopReceiving()
		return d.app.Run(serving)
	})
	parts.Go(func() error { return serveUntil(receiving, d.endpoint, receiver(d.events.answer)) })
	return parts.Wait()
}

// demoConfig logs only what is wrong with the server itself: refused pushes are the point, and shown as events.
var demoConfig = Config{
	Listen: "127.0.0.1:0", LogLevel: slog.LevelError, LogFormat: formatText, DrainTimeout: 10 * time.Second,
}

// demoApp opens a server on a private Redis or else on memory, and says which.
func demoApp(ctx context.Context, log *slog.Logger) (_ *app, place string, _ error) {
	a, why := privateApp(ctx, log)
	if why == nil {
		return a, "a private Redis, for as long as it runs", nil
	}
	if ctx.Err() != nil {
		return nil, "", why
	}
	a, err := newApp(ctx, demoConfig, log)
	return a, fmt.Sprintf("memory (%v)", why), err
}

// privateApp is a server on a private Redis that leaves nothing behind.
func privateApp(ctx context.Context, log *slog.Logger) (*app, error) {
	dir, err := os.MkdirTemp("", "postrider-demo-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	config := demoConfig
	config.DataDir, config.MaxMemory, config.Fsync = dir, 256<<20, private.FsyncEverySec
	a, err := newApp(ctx, config, log)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	// The first to be registered is the last to be closed.
	a.teardown = append([]teardown{{"private Redis's folder", remove}}, a.teardown...)
	return a, nil
}
