package redisstream

import (
	"context"
	"time"

	"postrider/subscriptions"
)

var extendScript = newScript("extend", with(onSubscription, "receipts")...)

// Extend implements subscriptions.Leases.
func (s *Store) Extend(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt, d time.Duration) (missed []subscriptions.Receipt, err error) {
	err = inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		f, err := s.onState(ctx, extendScript, ref, append([]any{wholeMillis(d)}, numbered(chunk)...)...)
		if err != nil {
			return err
		}
		missed = append(missed, f.missing(func(i int64) subscriptions.Receipt { return chunk[i] }, len(chunk))...)
		return f.err
	})
	return missed, err
}
