package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var nackScript = newScript("nack", with(onRules, "receipts")...)

// Nack implements subscriptions.Leases.
func (s *Store) Nack(ctx context.Context, r subscriptions.NackRequest) (missed []subscriptions.Receipt, err error) {
	var failures int64
	err = inChunks(r.Nacks, func(chunk []subscriptions.Nack) error {
		args := append(rules(r.Rules, r.Jitter, failures), oneIf(r.Use))
		for _, n := range chunk {
			args = append(args, member(n.ID, n.Key), n.Number, n.Epoch, wholeMillis(n.AtLeast), encodeFailure(n.Failure))
		}
		f, err := s.onState(ctx, nackScript, r.Ref, args...)
		if err != nil {
			return err
		}
		failures = f.int()
		missed = append(missed, f.missing(func(i int64) subscriptions.Receipt { return chunk[i].Receipt }, len(chunk))...)
		return f.err
	})
	return missed, err
}
