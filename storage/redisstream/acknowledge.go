package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var acknowledgeScript = newScript("acknowledge", with(onSubscription, "trim_log", "outstanding", "overflow", "order", "settled")...)

// Acknowledge implements subscriptions.Leases.
func (s *Store) Acknowledge(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return s.settle(ctx, ref, receipts, "acked")
}

// SettleDead implements subscriptions.DeadLetters.
func (s *Store) SettleDead(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return s.settle(ctx, ref, receipts, "moved")
}

func (s *Store) settle(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt, counter string) error {
	return inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		_, err := s.onState(ctx, acknowledgeScript, ref, append([]any{counter}, sized(chunk)...)...)
		return err
	})
}
