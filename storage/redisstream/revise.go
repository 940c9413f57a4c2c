package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var reviseScript = newScript("revise", with(onSubscription, "retain")...)

// Revise implements subscriptions.Slots.
func (s *Store) Revise(ctx context.Context, ref subscriptions.Ref) error {
	_, err := s.onState(ctx, reviseScript, ref, wholeMillis(ref.Retain))
	return err
}
