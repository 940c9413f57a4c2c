package subscriptions

import (
	"context"
	"time"
)

// Publish appends all of msgs to a topic or none, and returns their ids in
// order once the store has them. NOT_FOUND, INVALID_ARGUMENT; RESOURCE_EXHAUSTED
// when the store is full; UNAVAILABLE when it cannot be reached, in which case
// the messages may have been stored all the same.
func (s *Service) Publish(ctx context.Context, name TopicName, msgs []Message) ([]MessageID, error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	var ids []MessageID
	err := s.directory.withTopic(ctx, name, func(t Topic) (err error) {
		if err := validatePublish(msgs); err != nil {
			return err
		}
		msgs, err := timed(msgs, time.Now())
		if err != nil {
			return err
		}
		ids, err = s.publish(ctx, t, msgs)
		if err == nil {
			s.sweeper.promise(t.UID, msgs)
		}
		return err
	})
	return ids, err
}
