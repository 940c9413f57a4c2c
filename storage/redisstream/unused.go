package redisstream

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// Unused implements subscriptions.Slots. It takes one round trip to each server that has some of them.
func (s *Store) Unused(ctx context.Context, refs []subscriptions.Ref) ([]time.Duration, error) {
	pipe := s.client.Pipeline()
	used, clock := make([]*redis.StringCmd, len(refs)), pipe.Time(ctx)
	for i, ref := range refs {
		used[i] = pipe.HGet(ctx, s.keys.state(ref.Topic, ref.Subscription), "used")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, failed(ctx, "look when subscriptions were used", err)
	}
	if err := clock.Err(); err != nil {
		return nil, failed(ctx, "read the clock", err)
	}
	now := clock.Val()
	if s.options.Now != nil {
		now = s.options.Now()
	}
	unused := make([]time.Duration, len(refs))
	for i, cmd := range used {
		ms, err := cmd.Int64()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return nil, failed(ctx, "look when a subscription was used", err)
		}
		unused[i] = time.Duration(max(0, now.UnixMilli()-ms)) * time.Millisecond
	}
	return unused, nil
}
