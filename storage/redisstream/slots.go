package redisstream

import (
	"context"
	"time"

	"postrider/subscriptions"
)

var (
	attachScript = newScript("attach", onTopic...)
	reviseScript = newScript("revise", onSubscription...)
	dropScript   = newScript("drop", with(onTopic, "trim_log", "empty")...)
	statsScript  = newScript("stats", onSubscription...)
)

// onState runs a script on a subscription's state.
func (s *Store) onState(ctx context.Context, sc *script, ref subscriptions.Ref, args ...any) (*fields, error) {
	all := append([]any{s.now(), ref.Revision, s.keys.wake(ref.Topic), ref.Subscription}, args...)
	reply, err := s.run(ctx, sc, s.keys.subscription(ref.Topic, ref.Subscription), all...)
	return &fields{name: sc.name, rest: reply}, err
}

// Attach implements subscriptions.Slots.
func (s *Store) Attach(ctx context.Context, ref subscriptions.Ref, name subscriptions.SubscriptionName) error {
	_, err := s.run(ctx, attachScript, s.keys.subscription(ref.Topic, ref.Subscription)[:5],
		s.now(), ref.Revision, s.keys.wake(ref.Topic), ref.Subscription, name.String())
	return err
}

// Revise implements subscriptions.Slots.
func (s *Store) Revise(ctx context.Context, ref subscriptions.Ref) error {
	_, err := s.onState(ctx, reviseScript, ref)
	return err
}

// Drop implements subscriptions.Slots.
func (s *Store) Drop(ctx context.Context, topic, subscription string) error {
	keys := append(s.keys.subscription(topic, subscription), s.keys.topic(topic, "taken"))
	_, err := s.run(ctx, dropScript, keys, s.now(), "", s.keys.wake(topic), subscription)
	return err
}

// Stats implements subscriptions.Slots.
func (s *Store) Stats(ctx context.Context, ref subscriptions.Ref) (subscriptions.Stats, error) {
	f, err := s.onState(ctx, statsScript, ref)
	if err != nil {
		return subscriptions.Stats{}, err
	}
	stats := subscriptions.Stats{
		Undelivered: f.int(), Outstanding: f.int(), Dead: f.int(), Bytes: f.int(),
		OldestAge: max(0, millis(f.int())),
		Acked:     f.int(), Nacked: f.int(), Expired: f.int(), Dropped: f.int(), Lost: f.int(), DeadLettered: f.int(),
	}
	return stats, f.err
}

// millis is a duration of so many milliseconds; -1 stands for "none".
func millis(n int64) time.Duration {
	if n < 0 {
		return -1
	}
	return time.Duration(n) * time.Millisecond
}

// wholeMillis is d in milliseconds, rounded up: what is to last d never ends before.
func wholeMillis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
