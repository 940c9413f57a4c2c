package redisstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"postrider/subscriptions"
)

var publishScript = newScript("publish", with(onTopic, "retain", "open_for_publish", "ttl", "delayed", "timed")...)

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
	keys, delayed := s.keys.topicSlot(topic.UID), delayedIn(batch)
	if delayed != nil {
		keys = append(keys, s.keys.delayed(topic.UID)...)
	}
	reply, err := s.run(ctx, publishScript, keys, args...)
	if err != nil {
		return nil, err
	}
	f := fields{name: "publish", rest: reply}
	ms, first := f.int(), f.int()
	if delayed != nil {
		return f.delayedIDs(delayed, ms, first, salt), f.err
	}
	ids := make([]subscriptions.MessageID, count)
	for i := range ids {
		ids[i] = subscriptions.NewMessageID(ms, first+int64(i), salt)
	}
	return ids, f.err
}

// delayedIn tells of each message of a batch whether it is delayed; nil when none is.
func delayedIn(batch []*request) []bool {
	if !slices.ContainsFunc(batch, func(r *request) bool { return r.delayed != nil }) {
		return nil
	}
	var all []bool
	for _, r := range batch {
		if r.delayed == nil {
			all = append(all, make([]bool, r.count())...)
		}
		all = append(all, r.delayed...)
	}
	return all
}

// delayedIDs are the ids of messages of which some are delayed. The rest of the reply says what the count of the first of them
// is, and which were appended at once, so that they have a place in the log, too.
func (f *fields) delayedIDs(delayed []bool, ms, first, salt int64) []subscriptions.MessageID {
	ids, at := make([]subscriptions.MessageID, len(delayed)), f.int()
	atOnce := map[int64]bool{}
	for len(f.rest) > 0 {
		atOnce[f.int()] = true
	}
	for i := range ids {
		if !delayed[i] {
			ids[i] = subscriptions.NewMessageID(ms, first, salt)
			first++
			continue
		}
		ids[i] = subscriptions.NewDelayedID(ms, at, salt)
		at++
		if atOnce[int64(i)] {
			first++
		}
	}
	return ids
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
