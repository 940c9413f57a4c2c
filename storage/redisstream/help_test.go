package redisstream_test

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

// patience bounds every wait. Nothing sleeps for it.
const patience = 20 * time.Second

// sub is an attached subscription with calls that end the test when they fail.
type sub struct {
	testing.TB
	store *redisstream.Store
	topic subscriptions.TopicRef
	ref   subscriptions.Ref
	rules subscriptions.Rules
}

// attach opens a topic, if need be, and attaches a subscription named after it.
func attach(t testing.TB, s *redisstream.Store, topic string) *sub {
	t.Helper()
	return attachAs(t, s, topic, topic+"-sub")
}

func attachAs(t testing.TB, s *redisstream.Store, topic, name string) *sub {
	t.Helper()
	x := &sub{
		TB: t, store: s,
		topic: subscriptions.TopicRef{UID: topic, Revision: 1},
		ref:   subscriptions.Ref{Topic: topic, Subscription: name, Revision: 1},
		rules: subscriptions.Rules{Retention: 24 * time.Hour, Outstanding: 100_000},
	}
	x.ok(s.OpenTopic(t.Context(), x.topic))
	x.ok(s.Attach(t.Context(), x.ref, subscriptions.SubscriptionName{Project: "p", ID: name}))
	return x
}

func (x *sub) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// matching compiles a filter.
func matching(t testing.TB, filter string) *subscriptions.Match {
	t.Helper()
	m, err := subscriptions.NewMatch(filter, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func messages(n int) []subscriptions.Message {
	msgs := make([]subscriptions.Message, n)
	for i := range msgs {
		msgs[i].Data = fmt.Appendf(nil, "message %d", i)
	}
	return msgs
}

func (x *sub) publish(n int) []subscriptions.MessageID {
	x.Helper()
	ids, err := x.store.Publish(x.Context(), x.topic, messages(n))
	x.ok(err)
	return ids
}

func (x *sub) leaseResult(n int) subscriptions.LeaseResult {
	x.Helper()
	result, err := x.store.Lease(x.Context(), subscriptions.LeaseRequest{
		Ref: x.ref, Rules: x.rules, Max: n, MaxBytes: 10_000_000, Run: 100, Deadline: time.Minute,
	})
	x.ok(err)
	return result
}

func (x *sub) lease(n int) []subscriptions.Delivery {
	x.Helper()
	return x.leaseResult(n).Deliveries
}

func receipts(ds []subscriptions.Delivery) []subscriptions.Receipt {
	rs := make([]subscriptions.Receipt, len(ds))
	for i, d := range ds {
		rs[i] = d.Receipt()
	}
	return rs
}

func releases(rs []subscriptions.Receipt) []subscriptions.Release {
	all := make([]subscriptions.Release, len(rs))
	for i, r := range rs {
		all[i].Receipt = r
	}
	return all
}

func (x *sub) ack(ds ...subscriptions.Delivery) {
	x.Helper()
	x.ok(x.store.Acknowledge(x.Context(), x.ref, receipts(ds)))
}

func (x *sub) stats() subscriptions.Stats {
	x.Helper()
	stats, err := x.store.Stats(x.Context(), x.ref)
	x.ok(err)
	return stats
}

// roundTrip publishes, leases and acks.
func roundTrip(x *sub) {
	x.Helper()
	x.publish(2)
	ds := x.lease(10)
	if len(ds) != 2 {
		x.Fatalf("leased %d messages, want 2", len(ds))
	}
	x.ack(ds...)
	if stats := x.stats(); stats.Acked < 2 || stats.Outstanding != 0 {
		x.Fatalf("stats: %+v", stats)
	}
}

// wakes are the wake-ups that a watcher got.
type wakes struct {
	testing.TB
	mu   sync.Mutex
	got  []subscriptions.Wake
	more chan struct{}
	stop func()
}

func watch(t testing.TB, s *redisstream.Store, topicUID string) *wakes {
	t.Helper()
	w := &wakes{TB: t, more: make(chan struct{}, 1)}
	stop, err := s.Watch(t.Context(), topicUID, w.add)
	if err != nil {
		t.Fatal(err)
	}
	w.stop = sync.OnceFunc(stop)
	t.Cleanup(w.stop)
	return w
}

func (w *wakes) add(wake subscriptions.Wake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, wake)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// take is all that came so far, once.
func (w *wakes) take() []subscriptions.Wake {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.got
	w.got = nil
	return got
}

// wait waits until a wake-up came, and forgets all that came before.
func (w *wakes) wait(want subscriptions.Wake) {
	w.Helper()
	var seen []subscriptions.Wake
	for timeout := time.After(patience); ; {
		got := w.take()
		if slices.Contains(got, want) {
			return
		}
		seen = append(seen, got...)
		select {
		case <-w.more:
		case <-timeout:
			w.Fatalf("no wake-up %+v; there were %+v", want, seen)
		}
	}
}

// eventually tries until there is no error.
func eventually(t testing.TB, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// silent is a log for tests that break the connection on purpose.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
