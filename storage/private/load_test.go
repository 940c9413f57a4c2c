//go:build linux || darwin

package private

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// The load: a few writers, each of which appends numbered entries to a stream of its own, in pipelines.
const (
	writers  = 4
	pipeline = 20
)

// writer appends entry after entry. An entry's id is its number, so that a stream as long as its last number has no gap.
type writer struct {
	client *redis.Client
	key    string
	acked  atomic.Int64 // the last number that Redis has answered
}

func newWriters(client *redis.Client) []*writer {
	list := make([]*writer, writers)
	for i := range list {
		list[i] = &writer{client: client, key: fmt.Sprintf("stream-%d", i)}
	}
	return list
}

// found is the last number in the stream. It fails if one before is missing.
func (w *writer) found(ctx context.Context) (int64, error) {
	last, err := w.client.XRevRangeN(ctx, w.key, "+", "-", 1).Result()
	if err != nil || len(last) == 0 {
		return 0, err
	}
	var number int64
	if _, err := fmt.Sscanf(last[0].ID, "%d-0", &number); err != nil {
		return 0, err
	}
	length, err := w.client.XLen(ctx, w.key).Result()
	if err == nil && length != number {
		err = fmt.Errorf("%s has %d entries up to number %d", w.key, length, number)
	}
	return number, err
}

// write appends until something fails, and calls answered after each pipeline.
func (w *writer) write(ctx context.Context, answered func(*writer)) error {
	number, err := w.found(ctx)
	if err != nil {
		return err
	}
	if acked := w.acked.Load(); number < acked {
		return lostError{fmt.Errorf("%s has %d entries although %d were answered", w.key, number, acked)}
	}
	for {
		pipe := w.client.Pipeline()
		for range pipeline {
			number++
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: w.key, ID: fmt.Sprintf("%d-0", number), Values: []string{"d", payload}})
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		w.acked.Store(number)
		answered(w)
	}
}

var payload = strings.Repeat("x", 256)

// lostError is what must not happen.
type lostError struct{ error }

// writerFolder in the environment makes the test binary a server that writes until it is killed.
const writerFolder = "PRIVATE_TEST_FOLDER"

// writeForever opens a server and writes. It prints "ready" with the number of the redis-server and what each stream held, and
// then what has been answered.
func writeForever(dir string) int {
	err := func() error {
		ctx := context.Background()
		server, err := Open(ctx, Options{Dir: dir, MaxMemory: 1 << 30, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		if err != nil {
			return err
		}
		client, err := connect(server.URL())
		if err != nil {
			return err
		}
		list := newWriters(client)
		line := fmt.Sprintf("ready %d", server.child.Pid())
		for _, w := range list {
			found, err := w.found(ctx)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d", found)
		}
		fmt.Println(line)
		client.BgRewriteAOF(ctx) // it is then under way at the kill
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return server.Run(ctx) })
		for i, w := range list {
			group.Go(func() error {
				return w.write(ctx, func(w *writer) { fmt.Printf("acked %d %d\n", i, w.acked.Load()) })
			})
		}
		return group.Wait()
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// writeThroughDeaths writes on until ctx ends, whatever happens to the server; only a loss ends it.
func writeThroughDeaths(ctx context.Context, w *writer) error {
	for {
		err := w.write(ctx, func(*writer) {})
		if ctx.Err() != nil {
			return nil
		}
		if _, lost := err.(lostError); lost {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond): // between tries to reach a server that is away
		}
	}
}
