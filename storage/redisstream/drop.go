package redisstream

import "context"

var dropScript = newScript("drop", with(onTopic, "retain", "trim_log", "empty")...)

// Drop implements subscriptions.Slots.
func (s *Store) Drop(ctx context.Context, topic, subscription string) error {
	keys := append(s.keys.reported(topic, subscription), s.keys.history(topic, subscription), s.keys.topic(topic, "taken"))
	_, err := s.run(ctx, dropScript, keys, s.now(), "", s.keys.wake(topic), subscription)
	return err
}
