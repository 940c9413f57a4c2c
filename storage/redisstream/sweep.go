package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var sweepScript = newScript("sweep", with(onRules, "retain", "retention", "refill")...)

// Sweep implements subscriptions.DeadLetters.
func (s *Store) Sweep(ctx context.Context, r subscriptions.SweepRequest) (subscriptions.SweepResult, error) {
	args := append(rules(r.Rules, r.Jitter, 0), r.Max, wholeMillis(r.Hold), r.Review, wholeMillis(r.Retain))
	f, err := s.onState(ctx, sweepScript, r.Ref, args...)
	if err != nil {
		return subscriptions.SweepResult{}, err
	}
	result := subscriptions.SweepResult{NextDue: millis(f.int()), More: f.int() == 1, Unused: millis(f.int()), Review: int(f.int())}
	result.Dead = f.deliveries(f.int())
	return result, f.err
}
