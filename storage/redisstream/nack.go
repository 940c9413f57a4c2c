package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var nackScript = newScript("nack", with(onRules, "receipts")...)

// Nack implements subscriptions.Leases.
func (s *Store) Nack(ctx context.Context, r subscriptions.NackRequest) error {
	var failures int64
	return inChunks(r.Nacks, func(chunk []subscriptions.Nack) error {
		args := rules(r.Rules, r.Jitter, failures)
		for _, n := range chunk {
			args = append(args, member(n.ID, n.Key), n.Number, n.Epoch, wholeMillis(n.AtLeast))
		}
		f, err := s.onState(ctx, nackScript, r.Ref, args...)
		if err != nil {
			return err
		}
		failures = f.int()
		return f.err
	})
}
