package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var sweepScript = newScript("sweep", with(onRules, "source", "oldest", "retain", "old", "retention", "filter", "late", "refill", "delayed", "due")...)

// Sweep implements subscriptions.DeadLetters.
func (s *Store) Sweep(ctx context.Context, r subscriptions.SweepRequest) (subscriptions.SweepResult, error) {
	args := append(rules(r.Rules, r.Jitter, 0), r.Max, wholeMillis(r.Hold), r.Review, wholeMillis(r.Retain),
		oneIf(r.Rules.Match == nil || !r.Rules.DeadLetterLate))
	if m := r.Rules.Match; m != nil && r.Rules.Ordered {
		p, err := s.place(ctx, r.Ref, r.Rules)
		if err != nil {
			return subscriptions.SweepResult{}, err
		}
		behind, err := s.behind(ctx, r.Topic, m, p)
		if err != nil {
			return subscriptions.SweepResult{}, err
		}
		args = append(args, behind...)
	}
	f, err := s.onStateAnd(ctx, sweepScript, r.Ref, s.keys.delayed(r.Topic), args...)
	if err != nil {
		return subscriptions.SweepResult{}, err
	}
	result := subscriptions.SweepResult{
		NextDue: millis(f.int()), More: f.int() == 1, Unused: millis(f.int()), Review: int(f.int()), OldestAge: max(0, millis(f.int())),
	}
	for epoch := f.int(); len(f.rest) > 0; {
		d := f.delivery(epoch)
		d.Late = f.int() == 1
		d.Failed = f.attempts()
		result.Dead = append(result.Dead, d)
	}
	return result, f.err
}
