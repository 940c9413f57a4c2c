package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var statsScript = newScript("stats", with(onSubscription, "source", "oldest", "counts", "delayed", "due")...)

// Stats implements subscriptions.Slots.
func (s *Store) Stats(ctx context.Context, ref subscriptions.Ref) (subscriptions.Stats, error) {
	f, err := s.onStateAnd(ctx, statsScript, ref, s.keys.delayed(ref.Topic))
	if err != nil {
		return subscriptions.Stats{}, err
	}
	return f.stats(), f.err
}

// stats reads the numbers that counts.lua gives.
func (f *fields) stats() subscriptions.Stats {
	stats := subscriptions.Stats{
		Undelivered: f.int(), Outstanding: f.int(), Dead: f.int(), Parked: f.int(), Bytes: f.int(),
		OldestAge: max(0, millis(f.int())),
		Acked:     f.int(), Nacked: f.int(), Expired: f.int(), Dropped: f.int(), Lost: f.int(), DeadLettered: f.int(), Filtered: f.int(),
	}
	if len(f.rest) > 0 { // an older Postrider kept histories without it
		stats.Late = f.int()
	}
	return stats
}
