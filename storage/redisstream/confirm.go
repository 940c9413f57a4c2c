package redisstream

import (
	"context"
	"fmt"

	"postrider/subscriptions"
)

var confirmScript = newScript("confirm", with(onSubscription, "trim_log", "outstanding", "overflow", "order", "receipts", "settled")...)

// What confirm.lua tells of a receipt.
const (
	confirmDone  = 0
	confirmOver  = 1
	confirmEarly = 2
)

// Confirm implements subscriptions.Leases.
func (s *Store) Confirm(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) (missed subscriptions.Missed, err error) {
	err = inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		f, err := s.onState(ctx, confirmScript, ref, sized(chunk)...)
		if err != nil {
			return err
		}
		for _, r := range chunk {
			switch result := f.int(); result {
			case confirmDone:
			case confirmOver:
				missed.Over = append(missed.Over, r)
			case confirmEarly:
				missed.Early = append(missed.Early, r)
			default:
				f.fail(fmt.Sprintf("says %d of a receipt", result))
			}
		}
		return f.err
	})
	return missed, err
}
