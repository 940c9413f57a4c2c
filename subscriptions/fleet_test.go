package subscriptions_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"postrider/subscriptions"
)

// ownedBy keeps what a server says it owns.
type ownedBy struct {
	mu    sync.Mutex
	names map[string]bool
}

func (w *world) owned(s *subscriptions.Service) *ownedBy {
	o := &ownedBy{}
	w.Cleanup(s.Owned(func(subs []subscriptions.Subscription) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.names = map[string]bool{}
		for _, sub := range subs {
			o.names[sub.Name.ID] = true
		}
	}))
	return o
}

func (o *ownedBy) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.names)
}

func TestEverySubscriptionHasOneOwner(t *testing.T) {
	inWorld(t, func(w *world) {
		other := w.server(w.store)
		mine, theirs := w.owned(w.Service), w.owned(other)
		w.topic("orders")
		w.subscribeMany("orders", 40)
		wait(3 * time.Second)
		w.want(mine.count()+theirs.count(), 40)
		for name := range mine.names {
			w.want(theirs.names[name], false)
		}
		if mine.count() == 0 || theirs.count() == 0 {
			t.Fatalf("one server has all: %d and %d", mine.count(), theirs.count())
		}
	})
}

func TestADeletedSubscriptionIsSoonNobodys(t *testing.T) {
	inWorld(t, func(w *world) {
		mine := w.owned(w.Service)
		w.topic("orders")
		w.subscribe("orders", "billing")
		wait(time.Second)
		w.want(mine.count(), 1)
		w.must(w.DeleteSubscription(w.ctx, subName("billing")))
		wait(time.Second)
		w.want(mine.count(), 0)
	})
}

func TestAServerThatStopsIsReplacedAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		other, stop := w.mortal(w.store)
		mine := w.owned(w.Service)
		_ = other
		w.topic("orders")
		w.subscribeMany("orders", 40)
		wait(3 * time.Second)
		if mine.count() == 40 {
			t.Fatal("the other server has nothing to hand over")
		}
		stop()
		wait(time.Second)
		w.want(mine.count(), 40)
	})
}

// silent is a store that a server can no longer reach.
type silent struct {
	subscriptions.Store
	mu  sync.Mutex
	off bool
}

func (s *silent) set(off bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
}

func (s *silent) Beat(ctx context.Context, server string, ttl time.Duration, position string) (subscriptions.Beat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return subscriptions.Beat{}, subscriptions.WrapError(errors.New("no route"), subscriptions.Unavailable, "the store cannot be reached")
	}
	return s.Store.Beat(ctx, server, ttl, position)
}

func TestAServerThatDiesIsReplacedWithinFiveSeconds(t *testing.T) {
	inWorld(t, func(w *world) {
		line := &silent{Store: w.store}
		other, stop := w.mortal(line)
		defer stop()
		mine, theirs := w.owned(w.Service), w.owned(other)
		w.topic("orders")
		w.subscribeMany("orders", 40)
		wait(3 * time.Second)
		had := theirs.count()
		line.set(true)
		wait(5 * time.Second)
		w.want(mine.count(), 40)
		w.want(theirs.count(), had) // it cannot know; leases decide
		line.set(false)
		wait(3 * time.Second)
		w.want(mine.count()+theirs.count(), 40)
	})
}

// forgetful is a store whose feed says nothing of what changed.
type forgetful struct{ subscriptions.Store }

func (f forgetful) Beat(ctx context.Context, server string, ttl time.Duration, position string) (subscriptions.Beat, error) {
	b, err := f.Store.Beat(ctx, server, ttl, position)
	b.Changes = nil
	return b, err
}

func TestAChangeThatNobodyToldIsFoundWithinTwoMinutes(t *testing.T) {
	inWorld(t, func(w *world) {
		deaf := w.server(forgetful{w.store})
		w.stop()
		w.start()
		theirs := w.owned(deaf)
		w.topic("orders")
		w.subscribeMany("orders", 40)
		wait(2 * time.Minute)
		if theirs.count() == 0 {
			t.Fatal("the deaf server owns nothing")
		}
	})
}

// unwatched is a store that cannot be watched.
type unwatched struct{ subscriptions.Store }

func (unwatched) Watch(context.Context, string, func(subscriptions.Wake)) (func(), error) {
	return nil, subscriptions.Errorf(subscriptions.Unavailable, "the store cannot be reached")
}

func TestAServerStopsAlsoBeforeItsStoreIsThere(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, running := range []time.Duration{0, 3 * time.Second} {
			_, stop := w.mortal(unwatched{w.store})
			wait(running)
			stop()
		}
	})
}
