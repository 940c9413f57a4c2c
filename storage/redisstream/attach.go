package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var attachScript = newScript("attach", with(onTopic, "retain")...)

// Attach implements subscriptions.Slots.
func (s *Store) Attach(ctx context.Context, ref subscriptions.Ref, name subscriptions.SubscriptionName) error {
	_, err := s.run(ctx, attachScript, s.keys.subscription(ref.Topic, ref.Subscription)[:5],
		s.now(), ref.Revision, s.keys.wake(ref.Topic), ref.Subscription, name.String(), wholeMillis(ref.Retain))
	return err
}
