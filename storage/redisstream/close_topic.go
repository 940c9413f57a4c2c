package redisstream

import (
	"context"
	"slices"
)

var closeScript = newScript("close_topic", with(onTopic, "retain", "trim_log", "empty")...)

// CloseTopic implements subscriptions.Log.
func (s *Store) CloseTopic(ctx context.Context, uid string) error {
	_, err := s.run(ctx, closeScript, slices.Concat(s.keys.topicSlot(uid), s.keys.delayed(uid)), s.now(), "", s.keys.wake(uid))
	return err
}
