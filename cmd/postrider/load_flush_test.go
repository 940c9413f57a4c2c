//go:build load

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/storage/redistest"
)

const (
	flushedTopics = 20 // each with a subscription that is pulled and one that is pushed
	// worksAgain is how soon after its topic was created again a publish, a pull and a push work.
	worksAgain = 5 * time.Second
)

// afterFlush bounds what a server does that Redis has nothing for.
var afterFlush = idleBounds{commands: 50, percent: 2}

// Case 32 of the field: all of Redis's data is gone while publishers, pullers and pushes are under way. Clients who do not
// give up are answered NOT_FOUND; the log is no flood, and once they have gone nothing is left to do.
func TestLoadFlush(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	count := countCommands(t, redis)
	processes, addrs := startServers(t, redis, 1)
	f := &flood{loadClient: newLoadClient(t, addrs[0])}
	endpoint := newQuietEndpoint(t, func(p push) int {
		if strings.HasSuffix(p.Subscription, "0") { // some pushes are under way when the data goes
			time.Sleep(500 * time.Millisecond)
		}
		f.pushed.Add(1)
		return 204
	})
	f.each(flushedTopics, func(ctx context.Context, i int) error { return f.create(ctx, i, endpoint) })
	ctx, stop := context.WithCancel(t.Context())
	var clients errgroup.Group
	for i := range flushedTopics {
		clients.Go(func() error { return f.publishOn(ctx, topicID(i)) })
		clients.Go(func() error { return f.pullOn(ctx, "pull-"+topicID(i)) })
	}
	eventually(t, func() error {
		if f.pulled.Load() < 1000 || f.pushed.Load() < 1000 {
			return fmt.Errorf("%d pulled, %d pushed", f.pulled.Load(), f.pushed.Load())
		}
		return nil
	})

	if err := redis.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	flush := time.Now()
	time.Sleep(3 * time.Second)
	if status, body := request(t, http.MethodGet, "http://"+addrs[0]+"/readyz", nil); status != 200 {
		t.Errorf("the server can serve, but /readyz says %d %s", status, body)
	}
	stop()
	f.must(clients.Wait())
	t.Logf("%d pulled, %d pushed, then %d times NOT_FOUND", f.pulled.Load(), f.pushed.Load(), f.gone.Load())
	afterFlush.hold(t, count, processes...)
	checkLog(t, processes[0].errors.String(), flush)
	f.startAnew(endpoint)
}

// flood are clients who know what they want.
type flood struct {
	*loadClient
	pulled, pushed, gone atomic.Int64
}

// startAnew creates a topic again, and its subscriptions, and sends a message through them.
func (f *flood) startAnew(endpoint string) {
	f.Helper()
	start, before := time.Now(), f.pushed.Load()
	f.must(f.create(f.Context(), 1, endpoint))
	f.must(f.publish(f.Context(), topicID(1), 1, 10))
	received, err := f.pull(f.Context(), "pull-"+topicID(1), 1)
	f.must(err)
	eventually(f.T, func() error {
		if f.pushed.Load() == before {
			return errNotYet
		}
		return nil
	})
	took := time.Since(start)
	f.Logf("published, pulled and pushed %v after the topic was created again", took.Round(time.Millisecond))
	if len(received) != 1 || took > worksAgain {
		f.Errorf("%d messages were pulled, and all took %v", len(received), took)
	}
}

// create creates a topic with its two subscriptions.
func (f *flood) create(ctx context.Context, i int, endpoint string) error {
	id := topicID(i)
	if err := f.topic(ctx, id); err != nil {
		return err
	}
	if err := f.subscription(ctx, "pull-"+id, api.Subscription{Topic: fullTopic(id)}); err != nil {
		return err
	}
	return f.subscription(ctx, "push-"+id, api.Subscription{
		Topic: fullTopic(id), PushConfig: &api.PushConfig{PushEndpoint: endpoint},
	})
}

// publishOn publishes now and then until ctx ends.
func (f *flood) publishOn(ctx context.Context, topic string) error {
	return f.insist(ctx, func() error { return f.publish(ctx, topic, 5, 100) })
}

// pullOn pulls and acks until ctx ends.
func (f *flood) pullOn(ctx context.Context, sub string) error {
	return f.insist(ctx, func() error {
		received, err := f.pull(ctx, sub, 100)
		if err == nil && len(received) > 0 {
			f.pulled.Add(int64(len(received)))
			err = f.ack(ctx, sub, received)
		}
		return err
	})
}

// insist does something again and again, also when it is told that there is nothing any more. That it must be told once.
func (f *flood) insist(ctx context.Context, do func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for told := false; ; {
		err := do()
		if isNotFound(err) {
			told = true
			f.gone.Add(1)
		} else if err := unlessDone(ctx, err); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if !told {
				return errors.New("a client was never told that the data is gone")
			}
			return nil
		}
	}
}

// checkLog counts the lines that were logged since.
func checkLog(t *testing.T, log string, since time.Time) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(log) {
		var entry struct{ Time time.Time }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if !entry.Time.Before(since) {
			lines = append(lines, line)
		}
	}
	t.Logf("%d lines were logged in %v", len(lines), time.Since(since).Round(time.Millisecond))
	if most := int(time.Since(since) / time.Second); len(lines) > most {
		t.Errorf("more than one a second:\n%s", strings.Join(lines[:min(len(lines), 30)], ""))
	}
}
