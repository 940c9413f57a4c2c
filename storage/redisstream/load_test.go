//go:build load

package redisstream_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

const (
	// memorySlack is how much more memory than before Redis may hold in the end: buffers of connections, and what its
	// allocator rounds up. The million messages take some hundred times as much.
	memorySlack = 2 << 20
	// backWithin is how soon after the last ack all must be gone.
	backWithin = 10 * time.Second
	// batch is how many messages a request publishes, the most that one may.
	batch = 1000
)

// late tells whether something took longer than it may: than most, and than three times what publishing a million messages took
// moments before. That is 4 s where most is meant for; a machine that others use may be slow at both.
func late(took, most, publishing time.Duration) bool { return took > most && took > 3*publishing }

// Case 29 of the field: a million messages, three subscriptions, all acked: nothing is left of them.
func TestLoadAMillionMessagesLeaveNothing(t *testing.T) {
	const count = 1_000_000
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	subs := []*sub{attachAs(t, s, "topic", "one"), attachAs(t, s, "topic", "two"), attachAs(t, s, "topic", "three")}
	publish := func(n int) {
		for range n / batch {
			subs[0].publish(batch)
		}
	}
	// Once round, so that connections and scripts do not count.
	publish(batch)
	consumeBeside(t, subs, batch)
	before := server.UsedMemory(t)

	start := time.Now()
	publish(count)
	published, full := time.Since(start), server.UsedMemory(t)
	start = time.Now()
	consumeBeside(t, subs, count)
	acked := time.Now()
	var length, held int64
	for {
		length = s.Client().XLen(t.Context(), s.LogKey("topic")).Val()
		held = server.UsedMemory(t) - before
		if length <= slack && held <= memorySlack || time.Since(acked) > backWithin {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	back := time.Since(acked)
	t.Logf("published in %v, then Redis held %d MB; leased and acked by three in %v; %v after the last ack the log has %d entries, Redis holds %d kB more than before",
		round(published), (full-before)>>20, round(acked.Sub(start)), round(back), length, held>>10)
	if back > backWithin {
		t.Errorf("after %v the log has %d entries and Redis holds %d bytes more than before", backWithin, length, held)
	}
	for _, x := range subs {
		if got := x.stats(); got != (subscriptions.Stats{Acked: count + batch}) {
			t.Errorf("%s: %+v", x.ref.Subscription, got)
		}
	}
}

// consumeBeside lets each subscription lease and ack n messages, all at the same time.
func consumeBeside(t *testing.T, subs []*sub, n int) {
	t.Helper()
	var all errgroup.Group
	for _, x := range subs {
		all.Go(func() error { return x.consume(n) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// consume leases and acks n messages that are there. It may run in a goroutine of its own.
func (x *sub) consume(n int) error {
	request := subscriptions.LeaseRequest{Ref: x.ref, Rules: x.rules, Max: batch, MaxBytes: 10_000_000, Deadline: time.Minute}
	for n > 0 {
		got, err := x.store.Lease(x.Context(), request)
		if err != nil {
			return err
		}
		if len(got.Deliveries) == 0 {
			return fmt.Errorf("%s: %d messages are missing", x.ref.Subscription, n)
		}
		if err := x.store.Acknowledge(x.Context(), x.ref, receipts(got.Deliveries)); err != nil {
			return err
		}
		n -= len(got.Deliveries)
	}
	return nil
}

// A topic without subscriptions keeps nothing of what is published to it.
func TestLoadATopicWithoutSubscriptionsDoesNotGrow(t *testing.T) {
	const count = 100_000
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	topic := subscriptions.TopicRef{UID: "topic", Revision: 1}
	if err := s.OpenTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	publish := func(n int) {
		for range n / batch {
			ids, err := s.Publish(t.Context(), topic, messages(batch))
			if err != nil || len(ids) != batch {
				t.Fatalf("%d messages were published: %v", len(ids), err)
			}
		}
	}
	publish(batch)
	before := server.UsedMemory(t)
	publish(count)
	length := s.Client().XLen(t.Context(), s.LogKey("topic")).Val()
	held := server.UsedMemory(t) - before
	t.Logf("%d messages: the log has %d entries, Redis holds %d kB more than before", count, length, held>>10)
	if length != 0 || held > memorySlack {
		t.Errorf("the log has %d entries, Redis holds %d bytes more than before", length, held)
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
