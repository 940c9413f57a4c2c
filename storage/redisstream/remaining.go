package redisstream

import (
	"context"
	"time"

	"postrider/subscriptions"
)

var remainingScript = newScript("remaining", with(onSubscription, "receipts")...)

// Remaining implements subscriptions.Leases.
func (s *Store) Remaining(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) ([]time.Duration, error) {
	left := make([]time.Duration, 0, len(receipts))
	err := inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		f, err := s.onState(ctx, remainingScript, ref, numbered(chunk)...)
		if err != nil {
			return err
		}
		for range chunk {
			left = append(left, millis(f.int()))
		}
		return f.err
	})
	return left, err
}
