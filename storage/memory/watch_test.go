package memory

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

var (
	topic = subscriptions.TopicRef{UID: "t", Revision: 1}
	ref   = subscriptions.Ref{Topic: "t", Subscription: "s", Revision: 1}
	name  = subscriptions.SubscriptionName{Project: "p", ID: "s"}
	rules = subscriptions.Rules{Retention: time.Hour, Outstanding: 100}
)

// attached is a store with one topic and one subscription.
func attached(t *testing.T, o Options) *Store {
	t.Helper()
	s := New(o)
	must(t, s.OpenTopic(t.Context(), topic))
	must(t, s.Attach(t.Context(), ref, name))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func publish(ctx context.Context, s *Store, data string) error {
	_, err := s.Publish(ctx, topic, []subscriptions.Message{{Data: []byte(data)}})
	return err
}

func lease(ctx context.Context, s *Store) (subscriptions.LeaseResult, error) {
	return s.Lease(ctx, subscriptions.LeaseRequest{Ref: ref, Rules: rules, Max: 10, MaxBytes: 100, Deadline: 10 * time.Second})
}

func TestWatchersMayCallTheStore(t *testing.T) {
	t.Parallel()
	s := attached(t, Options{})
	var got []subscriptions.WakeKind
	var stop func()
	stop, err := s.Watch(t.Context(), topic.UID, func(w subscriptions.Wake) {
		got = append(got, w.Kind)
		switch w.Kind {
		case subscriptions.Published:
			if _, err := lease(t.Context(), s); err != nil {
				t.Error(err)
			}
		case subscriptions.Due:
			if err := s.Drop(t.Context(), topic.UID, ref.Subscription); err != nil {
				t.Error(err)
			}
		default:
			stop()
		}
	})
	must(t, err)
	must(t, publish(t.Context(), s, "a"))
	must(t, s.Attach(t.Context(), ref, name))
	must(t, publish(t.Context(), s, "b"))
	// The wake-ups of calls in a watcher come after the one that it is called with.
	want := []subscriptions.WakeKind{subscriptions.Published, subscriptions.Due, subscriptions.Revised}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Steps of several goroutines, with watchers that come and go: what the race detector is for.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	const messages = 300
	s := attached(t, Options{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range messages / 3 {
				if err := publish(t.Context(), s, "x"); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() { consume(t, s, messages/3) })
		wg.Go(func() {
			for range 100 {
				stop, err := s.Watch(t.Context(), topic.UID, func(subscriptions.Wake) {})
				if err != nil {
					t.Error(err)
				}
				stop()
			}
		})
	}
	wg.Wait()
	stats, err := s.Stats(t.Context(), ref)
	must(t, err)
	if want := (subscriptions.Stats{Acked: messages}); stats != want {
		t.Errorf("got %+v, want %+v", stats, want)
	}
}

// consume leases one by one, changes what it got, and acks it, until it had n messages.
func consume(t *testing.T, s *Store, n int) {
	news := make(chan struct{}, 1)
	signal := func(subscriptions.Wake) {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	stop, err := s.Watch(t.Context(), topic.UID, signal)
	if err != nil {
		t.Error(err)
		return
	}
	defer stop()
	for n > 0 {
		result, err := s.Lease(t.Context(), subscriptions.LeaseRequest{Ref: ref, Rules: rules, Max: 1, Deadline: time.Minute})
		if err != nil {
			t.Error(err)
			return
		}
		if len(result.Deliveries) == 0 {
			<-news
			continue
		}
		d := result.Deliveries[0]
		d.Message.Data[0]++
		if err := s.Acknowledge(t.Context(), ref, []subscriptions.Receipt{d.Receipt()}); err != nil {
			t.Error(err)
		}
		n--
	}
}

func TestOwnClockInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := attached(t, Options{})
		must(t, publish(t.Context(), s, "a"))
		published := time.Now()
		result, err := lease(t.Context(), s)
		must(t, err)
		d := result.Deliveries[0]
		if !d.Message.PublishTime().Equal(published) || result.NextDue != 10*time.Second {
			t.Fatalf("published at %s, due in %s", d.Message.PublishTime(), result.NextDue)
		}
		time.Sleep(result.NextDue - time.Millisecond)
		if result, err = lease(t.Context(), s); err != nil || len(result.Deliveries) > 0 || result.NextDue != time.Millisecond {
			t.Fatalf("got %+v, %v", result, err)
		}
		time.Sleep(time.Millisecond)
		if result, err = lease(t.Context(), s); err != nil || len(result.Deliveries) != 1 || result.Deliveries[0].Attempt != 2 {
			t.Fatalf("got %+v, %v", result, err)
		}
	})
}

func TestSalt(t *testing.T) {
	t.Parallel()
	s := attached(t, Options{})
	seen := map[int64]bool{}
	for range 50 {
		ids, err := s.Publish(t.Context(), topic, make([]subscriptions.Message, 2))
		must(t, err)
		if ids[0].Seq%10_000 != ids[1].Seq%10_000 {
			t.Fatalf("%v have not one salt", ids)
		}
		seen[ids[0].Seq%10_000] = true
	}
	if len(seen) < 10 {
		t.Errorf("50 batches had only the salts %v", seen)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	beat, err := s.Beat(t.Context(), "server", time.Minute, "")
	must(t, err)
	name := subscriptions.TopicName{Project: "p", ID: "id"}
	must(t, s.InsertTopic(t.Context(), subscriptions.Topic{Name: name, UID: "u", Revision: 1}))
	second, err := s.Beat(t.Context(), "server", time.Minute, beat.Position)
	must(t, err)
	for i := range int64(historyMax) {
		must(t, s.ReplaceTopic(t.Context(), subscriptions.Topic{Name: name, UID: "u", Revision: i + 2}))
	}
	if again, err := s.Beat(t.Context(), "server", time.Minute, beat.Position); err != nil || !again.Lost || len(again.Changes) > 0 {
		t.Errorf("got %d changes, lost %t, %v", len(again.Changes), again.Lost, err)
	}
	if again, err := s.Beat(t.Context(), "server", time.Minute, second.Position); err != nil || again.Lost || len(again.Changes) != historyMax {
		t.Errorf("got %d changes, lost %t, %v", len(again.Changes), again.Lost, err)
	}
}
