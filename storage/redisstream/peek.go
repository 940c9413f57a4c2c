package redisstream

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"postrider/subscriptions"
)

var peekScript = newScript("peek", with(onSubscription, "trim_log", "outstanding", "overflow", "source", "rank")...)

// Peek implements subscriptions.Peeks.
func (s *Store) Peek(ctx context.Context, r subscriptions.PeekRequest) (result subscriptions.PeekResult, err error) {
	f, err := s.onState(ctx, peekScript, r.Ref, int(r.After.Part), r.After.ID.String(), r.Max,
		wholeMillis(r.Rules.Retention), oneIf(r.Rules.Ordered))
	if err != nil {
		return result, err
	}
	result.More = f.int() == 1
	result.Next = subscriptions.PeekPlace{Part: subscriptions.PeekPart(f.int()), ID: f.id()}
	result.End = subscriptions.NewMessageID(f.int(), f.int(), 9_999)
	for epoch := f.int(); len(f.rest) > 0; {
		m := subscriptions.Peeked{Delivery: f.delivery(epoch)}
		m.Failed = f.attempts()
		m.State = subscriptions.PeekState(f.int())
		if ms := f.int(); ms > 0 {
			m.Next = time.UnixMilli(ms).UTC()
		}
		if m.State != subscriptions.PeekNew || r.Rules.Match.Matches(m.Message.Attributes) {
			result.Messages = append(result.Messages, m)
		}
	}
	return result, f.err
}

// PeekLog implements subscriptions.Peeks.
func (s *Store) PeekLog(ctx context.Context, topic string, after subscriptions.MessageID, limit int) (result subscriptions.PeekResult, err error) {
	result.Next.ID = after
	stored, err := s.client.HMGet(ctx, s.keys.topic(topic, "meta"), "v", "ms", "n", "max").Result()
	if err != nil {
		return result, failed(ctx, "read where a log ends", err)
	}
	var ends [3]int64
	for i, value := range stored[1:] {
		text, ok := value.(string)
		if !ok {
			return result, nil // never opened, or emptied
		}
		if ends[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return result, fmt.Errorf("redisstream: the end of a log: %w", err)
		}
	}
	if stored[0] != formatVersion {
		return result, fmt.Errorf("redisstream: the slot of topic %s is of the unknown format %v, or is being moved", topic, stored[0])
	}
	result.End = subscriptions.NewMessageID(ends[0], ends[1], 9_999)
	entries, whole, err := s.readEntries(ctx, topic, ends[2], after.String(), "+", int64(min(max(limit, 1), scriptMax)))
	if err != nil {
		return result, err
	}
	result.More = !whole
	for _, e := range entries {
		id, err := subscriptions.ParseMessageID(e.id)
		if err != nil {
			return result, err
		}
		m, err := decodeMessage(id, e.d)
		if err != nil {
			return result, err
		}
		result.Messages = append(result.Messages, subscriptions.Peeked{Delivery: subscriptions.Delivery{Message: m}, State: subscriptions.PeekNew})
		result.Next.ID = id
	}
	return result, nil
}

// id reads a message's id.
func (f *fields) id() subscriptions.MessageID {
	id, err := subscriptions.ParseMessageID(f.text())
	if err != nil && f.err == nil {
		f.err = err
	}
	return id
}
