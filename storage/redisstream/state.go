package redisstream

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// onState runs a script on a subscription's state.
func (s *Store) onState(ctx context.Context, sc *script, ref subscriptions.Ref, args ...any) (*fields, error) {
	all := append([]any{s.now(), ref.Revision, s.keys.wake(ref.Topic), ref.Subscription}, args...)
	reply, err := s.run(ctx, sc, s.keys.subscription(ref.Topic, ref.Subscription), all...)
	return &fields{name: sc.name, rest: reply}, err
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
