package redisstream

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// rememberTaken is how long a topic knows which dead letters it took when nobody lets it forget: as long as a source could still
// hold one, which the longest retention bounds. Nothing shorter is safe for a letter that may still be where it came from: all
// servers may be down for days between two steps of a move or a redrive, and what came back may be acked by then. Once a letter is
// gone from there the topic is let forget (ForgetDead, ForgetRedriven), so that only what a server was at when it died is left:
// 100 names at most for each subscription and operation that it worked on, of about 100 bytes.
const rememberTaken = subscriptions.MaxRetention

var appendDeadScript = newScript("append_dead", with(onTopic, "taken", "retain", "open_for_publish")...)

// AppendDead implements subscriptions.DeadLetters.
func (s *Store) AppendDead(
	ctx context.Context, topic subscriptions.TopicRef, source string, dead []subscriptions.Message, keep time.Duration,
) error {
	args := []any{
		s.now(), topic.Revision, s.keys.wake(topic.UID), digits(s.salt()),
		wholeMillis(topic.Retention), wholeMillis(keep), wholeMillis(rememberTaken),
	}
	for _, m := range dead {
		args = append(args, takenMember(source, m.ID), head(m), encodeMessage(m))
	}
	_, err := s.run(ctx, appendDeadScript, s.keys.topicSlot(topic.UID), args...)
	return err
}

// ForgetDead implements subscriptions.DeadLetters.
func (s *Store) ForgetDead(ctx context.Context, topic, source string, ids []subscriptions.MessageID) error {
	members := make([]any, len(ids))
	for i, id := range ids {
		members[i] = takenMember(source, id)
	}
	return inChunks(members, func(chunk []any) error {
		if len(chunk) == 0 {
			return nil
		}
		return failed(ctx, "forget dead", s.client.ZRem(ctx, s.keys.topic(topic, "taken"), chunk...).Err())
	})
}
