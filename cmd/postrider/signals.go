package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interruption is why a context ended: the signal.
type interruption struct{ signal syscall.Signal }

func (i interruption) Error() string { return fmt.Sprintf("interrupted by %v", i.signal) }

// status is what a shell shows for a process that the signal ended.
func (i interruption) status() int { return 128 + int(i.signal) }

// withSignals ends the context at the first SIGINT or SIGTERM, and the process at the second: who asks twice does not want
// to wait for the drain.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for asked := false; ; asked = true {
			select {
			case s := <-signals:
				end := interruption{s.(syscall.Signal)}
				if asked {
					os.Exit(end.status())
				}
				cancel(end)
			case <-done:
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		running.Wait()
		cancel(nil)
	}
}
