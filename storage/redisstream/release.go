package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var releaseScript = newScript("release", with(onSubscription, "trim_log", "outstanding", "overflow", "order", "receipts")...)

// Release implements subscriptions.Leases.
func (s *Store) Release(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		_, err := s.onState(ctx, releaseScript, ref, numbered(chunk)...)
		return err
	})
}
