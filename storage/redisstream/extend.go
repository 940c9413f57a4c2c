package redisstream

import (
	"context"
	"time"

	"postrider/subscriptions"
)

var extendScript = newScript("extend", with(onSubscription, "receipts")...)

// Extend implements subscriptions.Leases.
func (s *Store) Extend(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt, d time.Duration) error {
	return inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		_, err := s.onState(ctx, extendScript, ref, append([]any{wholeMillis(d)}, numbered(chunk)...)...)
		return err
	})
}
