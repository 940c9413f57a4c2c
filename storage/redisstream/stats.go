package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var statsScript = newScript("stats", with(onSubscription, "source", "oldest", "counts")...)

// Stats implements subscriptions.Slots.
func (s *Store) Stats(ctx context.Context, ref subscriptions.Ref) (subscriptions.Stats, error) {
	f, err := s.onState(ctx, statsScript, ref)
	if err != nil {
		return subscriptions.Stats{}, err
	}
	return f.stats(), f.err
}

// stats reads the numbers that counts.lua gives.
func (f *fields) stats() subscriptions.Stats {
	return subscriptions.Stats{
		Undelivered: f.int(), Outstanding: f.int(), Dead: f.int(), Parked: f.int(), Bytes: f.int(),
		OldestAge: max(0, millis(f.int())),
		Acked:     f.int(), Nacked: f.int(), Expired: f.int(), Dropped: f.int(), Lost: f.int(), DeadLettered: f.int(), Filtered: f.int(),
	}
}
