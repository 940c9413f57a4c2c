package redisstream

import (
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

var (
	dueScript    = newScript("append_due", with(onTopic, "delayed", "due")...)
	listDelayed  = newScript("list_delayed", with(onTopic, "delayed", "due")...)
	cancelScript = newScript("cancel_delayed", with(onTopic, "delayed")...)
)

// onDelayed runs a script on a topic's delayed messages.
func (s *Store) onDelayed(ctx context.Context, sc *script, topic string, args ...any) (*fields, error) {
	keys := slices.Concat(s.keys.topicSlot(topic)[:4], s.keys.delayed(topic))
	reply, err := s.run(ctx, sc, keys, append([]any{s.now(), "", s.keys.wake(topic)}, args...)...)
	return &fields{name: sc.name, rest: reply}, err
}

// AppendDue implements subscriptions.Delays.
func (s *Store) AppendDue(ctx context.Context, uid string) (next time.Duration, err error) {
	f, err := s.onDelayed(ctx, dueScript, uid)
	if err != nil {
		return -1, err
	}
	return millis(f.int()), f.err
}

// Delayed implements subscriptions.Delays.
func (s *Store) Delayed(ctx context.Context, r subscriptions.DelayedRequest) (result subscriptions.DelayedResult, err error) {
	after := ""
	if r.After != (subscriptions.DelayedPlace{}) {
		after = member(r.After.ID, 0)
	}
	f, err := s.onDelayed(ctx, listDelayed, r.Topic, r.After.Milli, after, r.Max)
	if err != nil {
		return result, err
	}
	result.Count, result.Bytes, result.More = f.int(), f.int(), f.int() == 1
	for len(f.rest) > 0 {
		result.Messages = append(result.Messages, f.delayed())
	}
	return result, f.err
}

// delayed reads a message that is not due yet.
func (f *fields) delayed() (m subscriptions.DelayedMessage) {
	text, due, stored := f.text(), f.int(), f.text()
	id, _, err := parseMember(text)
	if err == nil {
		_, d := splitStored(stored)
		m.Message, err = decodeMessage(id, d)
	}
	if err != nil && f.err == nil {
		f.err = err
		return m
	}
	m.Due, m.Bytes = time.UnixMilli(due).UTC(), int64(m.Message.Size())
	m.Message.Data = nil
	return m
}

// splitStored takes apart what delays holds of a message: a head and d.
func splitStored(stored string) (h, d string) {
	length := headLength
	if len(stored) > 0 && stored[:1] == ttlVersion {
		length = ttlHeadLength
	}
	length = min(length, len(stored))
	return stored[:length], stored[length:]
}

// CancelDelayed implements subscriptions.Delays.
func (s *Store) CancelDelayed(ctx context.Context, uid string, ids []subscriptions.MessageID) (cancelled []subscriptions.MessageID, err error) {
	err = inChunks(ids, func(chunk []subscriptions.MessageID) error {
		members := make([]any, len(chunk))
		for i, id := range chunk {
			members[i] = member(id, 0)
		}
		f, err := s.onDelayed(ctx, cancelScript, uid, members...)
		for err == nil && len(f.rest) > 0 {
			if i := f.int(); i >= 0 && i < int64(len(chunk)) {
				cancelled = append(cancelled, chunk[i])
			}
		}
		if err == nil {
			err = f.err
		}
		return err
	})
	return cancelled, err
}
