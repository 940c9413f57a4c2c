package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var openScript = newScript("open_topic", with(onTopic, "retain")...)

// OpenTopic implements subscriptions.Log.
func (s *Store) OpenTopic(ctx context.Context, topic subscriptions.TopicRef) error {
	_, err := s.run(ctx, openScript, s.keys.topicSlot(topic.UID)[:4],
		s.now(), topic.Revision, s.keys.wake(topic.UID), wholeMillis(topic.Retention))
	return err
}
