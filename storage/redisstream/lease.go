package redisstream

import (
	"context"
	"strconv"

	"postrider/subscriptions"
)

var leaseScript = newScript("lease", with(onRules, "source", "old", "retention", "filter", "late", "refill", "delayed", "due")...)

// Lease implements subscriptions.Leases. At most 200 messages and about 1 MB are leased, so that no script holds up Redis.
func (s *Store) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	args := append(rules(r.Rules, r.Jitter, 0), r.Max, r.MaxBytes, wholeMillis(r.Deadline), oneIf(r.Use), r.Run)
	if m := r.Rules.Match; m != nil {
		p, err := s.place(ctx, r.Ref, r.Rules)
		if err != nil {
			return subscriptions.LeaseResult{}, err
		}
		behind, err := s.behind(ctx, r.Topic, m, p)
		if err != nil {
			return subscriptions.LeaseResult{}, err
		}
		ahead, err := s.ahead(ctx, r.Topic, m, p, r.Max)
		if err != nil {
			return subscriptions.LeaseResult{}, err
		}
		args = append(append(args, behind...), ahead...)
	}
	f, err := s.onStateAnd(ctx, leaseScript, r.Ref, s.keys.delayed(r.Topic), args...)
	if err != nil {
		return subscriptions.LeaseResult{}, err
	}
	result := subscriptions.LeaseResult{NextDue: millis(f.int()), More: f.int() == 1}
	result.Deliveries = f.deliveries(f.int())
	return result, f.err
}

// rules are the arguments that rules.lua reads. failures is how many delays of the same step were already spread.
func rules(r subscriptions.Rules, jitter float64, failures int64) []any {
	args := make([]any, 0, 13+2*len(r.Retry))
	args = append(args, r.MaxAttempts, wholeMillis(r.Retention), r.Outstanding,
		strconv.FormatFloat(jitter, 'g', -1, 64), failures, oneIf(r.Ordered), oneIf(r.DeadLetterLate), len(r.Retry))
	for _, span := range r.Retry {
		low, high := span.Millis()
		args = append(args, low, high)
	}
	return args
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
