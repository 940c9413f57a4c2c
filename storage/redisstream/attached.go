package redisstream

import (
	"context"
	"slices"

	"postrider/subscriptions"
)

// Attached implements subscriptions.Log.
func (s *Store) Attached(ctx context.Context, uid string) ([]subscriptions.SubscriptionName, error) {
	texts, err := s.client.HVals(ctx, s.keys.topic(uid, "subs")).Result()
	if err != nil {
		return nil, failed(ctx, "attached", err)
	}
	slices.Sort(texts)
	names := make([]subscriptions.SubscriptionName, len(texts))
	for i, text := range texts {
		names[i] = parseSubscription(text)
	}
	return names, nil
}
