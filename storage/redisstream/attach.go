package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var attachScript = newScript("attach", with(onTopic, "retain")...)

// Attach implements subscriptions.Slots.
func (s *Store) Attach(ctx context.Context, ref subscriptions.Ref, name subscriptions.SubscriptionName) error {
	for {
		reply, err := s.run(ctx, attachScript, s.keys.subscription(ref.Topic, ref.Subscription)[:5],
			s.now(), ref.Revision, s.keys.wake(ref.Topic), ref.Subscription, name.String(), wholeMillis(ref.Retain))
		if err != nil {
			return err
		}
		f := fields{name: attachScript.name, rest: reply}
		if f.int() == 0 {
			return f.err
		}
		if _, err := s.AppendDue(ctx, ref.Topic); err != nil {
			return err
		}
	}
}
