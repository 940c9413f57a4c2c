package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"postrider/server/api"
	"postrider/storage/redisstream"
	"postrider/storage/redistest"
)

const (
	killTopics = 24
	// takeover is within what time of its death the others push what a server would have pushed: 5 s, and what a busy test
	// machine adds.
	takeover = 5*time.Second + 2*time.Second
)

// Two servers share a Redis and a load of pushes. One is killed. What publishers were answered is delivered all the same:
// what comes later by the other server, and what the dead one had in hand when its leases end.
func TestKilledServerLosesNothing(t *testing.T) {
	redis := redistest.Start(t)
	doomed, addr := startServer(t, "--redis-url", redis.URL())
	_, other := startServer(t, "--redis-url", redis.URL())
	var seen ledger
	e := httptest.NewServer(receiver(func(p push) int {
		seen.add(path.Base(p.Subscription), p.Message.MessageID)
		return 200
	}))
	t.Cleanup(e.Close)
	c := client(t, addr)
	for i := range killTopics {
		c.run("topics", "create", topicID(i))
		c.run("subscriptions", "create", topicID(i), "--topic", topicID(i), "--push-endpoint", e.URL)
	}
	awaitServers(t, redis, 2)

	ctx, stop := context.WithCancel(t.Context())
	var answered ledger
	publishing := make(chan error, 1)
	go func() { publishing <- publishLoad(ctx, other, &answered) }()
	eventually(t, func() error { return seen.atLeast(2000) })
	doomed.signal(os.Kill)
	killed := time.Now()
	doomed.wait()
	var probes ledger
	for i := range killTopics {
		probes.add(topicID(i), publishOne(t, other, topicID(i)))
	}
	eventually(t, func() error { return seen.holds(&probes) })
	took := time.Since(killed)
	stop()
	if err := <-publishing; err != nil {
		t.Fatal(err)
	}
	t.Logf("took over after %v, under a load of %d messages", took, answered.size())
	if took > takeover {
		t.Errorf("the other server took over after %v", took)
	}
	if took < time.Second {
		t.Errorf("the killed server owned nothing: took over after %v", took)
	}
	eventually(t, func() error { return seen.holds(&answered) })
}

func topicID(i int) string { return fmt.Sprintf("topic-%d", i) }

// awaitServers waits until so many servers know of one another.
func awaitServers(t *testing.T, redis *redistest.Server, n int) {
	t.Helper()
	store, err := redisstream.Open(t.Context(), redis.URL(), redisstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	eventually(t, func() error {
		beat, err := store.Beat(t.Context(), "observer", time.Millisecond, "")
		if err == nil && len(beat.Live) <= n {
			err = fmt.Errorf("alive: %v", beat.Live)
		}
		return err
	})
}

// publishLoad publishes to all topics in turn until ctx ends, and notes what was answered.
func publishLoad(ctx context.Context, addr string, answered *ledger) error {
	s, err := newSession(process{}, clientFlags{server: addr})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		body := api.PublishRequest{Messages: slices.Repeat([]api.PubsubMessage{{Data: []byte("x")}}, 10)}
		answer, err := call[api.PublishResponse](s.Publish(ctx, defaultProject, topicID(i%killTopics), body))
		if err != nil {
			return unlessDone(ctx, err)
		}
		for _, id := range answer.MessageIDs {
			answered.add(topicID(i%killTopics), id)
		}
	}
}

func publishOne(t *testing.T, addr, topic string) string {
	t.Helper()
	var answer api.PublishResponse
	decode(t, client(t, addr).run("publish", topic, "probe", "-o", "json"), &answer)
	return answer.MessageIDs[0]
}

// ledger is a set of messages: an id is unique within its topic.
type ledger struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (l *ledger) add(topic, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids = map[string]bool{}
	}
	l.ids[topic+" "+id] = true
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ids)
}

func (l *ledger) atLeast(n int) error {
	if size := l.size(); size < n {
		return fmt.Errorf("only %d", size)
	}
	return nil
}

// holds fails while one of other's is missing. Nobody adds to other meanwhile.
func (l *ledger) holds(other *ledger) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	missing := 0
	for id := range other.ids {
		if !l.ids[id] {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d are missing", missing, len(other.ids))
	}
	return nil
}
