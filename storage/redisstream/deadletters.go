package redisstream

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// rememberTaken is how long a topic knows which dead letters it took: as long as a source could still hold one, which the
// longest retention bounds.
const rememberTaken = subscriptions.MaxRetention

var (
	sweepScript      = newScript("sweep", with(onRules, "retention")...)
	appendDeadScript = newScript("append_dead", with(onTopic, "open_for_publish")...)
)

// Sweep implements subscriptions.DeadLetters.
func (s *Store) Sweep(ctx context.Context, r subscriptions.SweepRequest) (subscriptions.SweepResult, error) {
	args := append(rules(r.Rules, r.Jitter, 0), r.Max, wholeMillis(r.Hold), r.Review)
	f, err := s.onState(ctx, sweepScript, r.Ref, args...)
	if err != nil {
		return subscriptions.SweepResult{}, err
	}
	result := subscriptions.SweepResult{NextDue: millis(f.int()), More: f.int() == 1, Unused: millis(f.int()), Review: int(f.int())}
	result.Dead = f.deliveries(f.int())
	return result, f.err
}

// AppendDead implements subscriptions.DeadLetters.
func (s *Store) AppendDead(
	ctx context.Context, topic subscriptions.TopicRef, source string, dead []subscriptions.Message, keep time.Duration,
) error {
	args := []any{
		s.now(), topic.Revision, s.keys.wake(topic.UID), digits(s.salt()), wholeMillis(keep), wholeMillis(rememberTaken),
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
