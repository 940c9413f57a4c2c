package redisstream

import "context"

var closeScript = newScript("close_topic", with(onTopic, "retain", "trim_log", "empty")...)

// CloseTopic implements subscriptions.Log.
func (s *Store) CloseTopic(ctx context.Context, uid string) error {
	_, err := s.run(ctx, closeScript, s.keys.topicSlot(uid), s.now(), "", s.keys.wake(uid))
	return err
}
