package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var hastenScript = newScript("hasten", onRules...)

// Hasten implements subscriptions.Waits.
func (s *Store) Hasten(ctx context.Context, r subscriptions.HastenRequest) (next int64, err error) {
	f, err := s.onState(ctx, hastenScript, r.Ref, append(rules(r.Rules, r.Jitter, 0), r.After)...)
	if err != nil {
		return 0, err
	}
	return f.int(), f.err
}
