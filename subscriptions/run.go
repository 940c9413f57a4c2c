package subscriptions

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run does what a server does by itself, until ctx ends: heartbeats, finishing
// what other servers left half-made, the sweep of the subscriptions and the work
// of the operations that this server owns, and the survey of the topics that it
// changed.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.fleet.run(ctx) })
	g.Go(func() error { return s.sweeper.run(ctx) })
	g.Go(func() error { return s.surveyor.run(ctx) })
	g.Go(func() error { return s.operator.run(ctx) })
	return g.Wait()
}

// sleep waits for d or a signal on early, and tells whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// signal puts a token into a channel of one place, if it has none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func setOrDelete[K comparable, V any](m map[K]V, k K, v V, set bool) {
	if set {
		m[k] = v
	} else {
		delete(m, k)
	}
}

// refreshTopic brings what is remembered of a topic up to date, if anything is.
func (d *directory) refreshTopic(name TopicName, t Topic, exists bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.topics[name]; ok {
		setOrDelete(d.topics, name, t, exists && t.Phase == Active)
	}
}

// refreshSubscription is refreshTopic for a subscription.
func (d *directory) refreshSubscription(name SubscriptionName, s Subscription, exists bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.subscriptions[name]; ok {
		s, err := s.prepared()
		setOrDelete(d.subscriptions, name, s, exists && s.Phase == Active && err == nil)
	}
}

// replace brings everything that is remembered up to date.
func (d *directory) replace(topics map[TopicName]Topic, subs map[SubscriptionName]Subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.topics, func(n TopicName, _ Topic) bool { return topics[n].Phase != Active })
	maps.DeleteFunc(d.subscriptions, func(n SubscriptionName, _ Subscription) bool { return subs[n].Phase != Active })
	for n := range d.topics {
		d.topics[n] = topics[n]
	}
	for n := range d.subscriptions {
		s, err := subs[n].prepared()
		setOrDelete(d.subscriptions, n, s, err == nil)
	}
}
