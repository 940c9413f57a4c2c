package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var releaseScript = newScript("release", with(onSubscription, "trim_log", "outstanding", "overflow", "order", "failures", "receipts")...)

// Release implements subscriptions.Leases.
func (s *Store) Release(ctx context.Context, ref subscriptions.Ref, releases []subscriptions.Release) error {
	return inChunks(releases, func(chunk []subscriptions.Release) error {
		args := make([]any, 0, 4*len(chunk))
		for _, r := range chunk {
			why := ""
			if r.Reason != "" {
				why = encodeFailure(r.Failure)
			}
			args = append(args, member(r.ID, r.Key), r.Number, r.Epoch, why)
		}
		_, err := s.onState(ctx, releaseScript, ref, args...)
		return err
	})
}
