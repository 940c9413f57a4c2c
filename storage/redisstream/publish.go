package redisstream

import (
	"context"
	"fmt"
	"math/rand/v2"

	"postrider/subscriptions"
)

var publishScript = newScript("publish", with(onTopic, "retain", "open_for_publish")...)

// Publish implements subscriptions.Log. Requests for one topic that arrive while another is on its way to Redis travel
// together (batcher.go).
func (s *Store) Publish(
	ctx context.Context, topic subscriptions.TopicRef, msgs []subscriptions.Message,
) ([]subscriptions.MessageID, error) {
	return s.batches.publish(ctx, topic, msgs)
}

// publishNow appends the messages of all requests in one step.
func (s *Store) publishNow(ctx context.Context, topic subscriptions.TopicRef, batch []*request) ([]subscriptions.MessageID, error) {
	salt, count := s.salt(), 0
	for _, r := range batch {
		count += r.count()
	}
	args := make([]any, 0, 5+2*count)
	args = append(args, s.now(), topic.Revision, s.keys.wake(topic.UID), digits(salt), wholeMillis(topic.Retention))
	for _, r := range batch {
		args = append(args, r.entries...)
	}
	reply, err := s.run(ctx, publishScript, s.keys.topicSlot(topic.UID), args...)
	if err != nil {
		return nil, err
	}
	f := fields{name: "publish", rest: reply}
	ms, first := f.int(), f.int()
	ids := make([]subscriptions.MessageID, count)
	for i := range ids {
		ids[i] = subscriptions.NewMessageID(ms, first+int64(i), salt)
	}
	return ids, f.err
}

// digits writes a salt with its four digits, as the script appends it to a count.
func digits(salt int64) string { return fmt.Sprintf("%04d", salt) }

// salt is the random part of a batch's ids.
func (s *Store) salt() int64 {
	if s.options.Salt != nil {
		return s.options.Salt()
	}
	return rand.Int64N(10_000)
}
