package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

// dueMax and dueBytes bound how many messages, and how many bytes of them, one step appends that are due.
const (
	dueMax   = 100
	dueBytes = 500_000
)

// delayed is a message that is not due yet.
type delayed struct {
	due     int64 // in milliseconds
	over    int64 // as in entry
	message subscriptions.Message
}

func compareDelayed(a, b delayed) int {
	return cmp.Or(cmp.Compare(a.due, b.due), a.message.ID.Compare(b.message.ID))
}

// publishOne appends a message, or keeps it aside until it is due, and gives it its id.
func (s *Store) publishOne(t *slot, m subscriptions.Message, salt int64, store bool) subscriptions.MessageID {
	timing := m.Timing
	m.ID, m.Timing = subscriptions.MessageID{}, subscriptions.Timing{} // a dead letter had another id
	due := s.now + millis(timing.Delay)
	if !timing.DeliverAt.IsZero() {
		due = max(s.now, ceilMilli(timing.DeliverAt))
	}
	over := int64(0)
	if timing.TTL > 0 {
		over = due + millis(timing.TTL)
	}
	if timing.IsDelayed() {
		t.delays++
		m.ID = subscriptions.NewDelayedID(t.log.last, t.delays, salt)
	}
	if due <= s.now {
		if id := t.log.append(m, over, salt, store); !timing.IsDelayed() {
			return id
		}
		return m.ID
	}
	d := delayed{due, over, cloneMessage(m)}
	at, _ := slices.BinarySearchFunc(t.delayed, d, compareDelayed)
	t.delayed = slices.Insert(t.delayed, at, d)
	return m.ID
}

// nextDelayed is how long it is until the next delayed message is due; negative without one.
func (t *slot) nextDelayed(now int64) time.Duration {
	if len(t.delayed) == 0 {
		return -1
	}
	return until(now, t.delayed[0].due)
}

// appendDue appends what is due, a bounded number at once. The id in the log ends in the digits of the message's own.
func (s *Store) appendDue(t *slot) {
	n, bytes := 0, 0
	for n < len(t.delayed) && t.delayed[n].due <= s.now && n < dueMax && bytes < dueBytes {
		m := t.delayed[n].message
		t.log.last = max(t.log.last, s.now)
		t.log.append(m, t.delayed[n].over, m.ID.Salt(), t.isNeeded())
		bytes += m.Size()
		n++
	}
	t.delayed = slices.Delete(t.delayed, 0, n)
	if n > 0 && len(t.states) > 0 {
		s.wake(t.uid, subscriptions.Wake{Kind: subscriptions.Published})
	}
}

// AppendDue implements subscriptions.Delays.
func (s *Store) AppendDue(_ context.Context, uid string) (next time.Duration, err error) {
	s.begin()
	defer s.end()
	t := s.slots[uid]
	if t == nil {
		return -1, nil
	}
	s.appendDue(t)
	return t.nextDelayed(s.now), nil
}

// Delayed implements subscriptions.Delays.
func (s *Store) Delayed(_ context.Context, r subscriptions.DelayedRequest) (result subscriptions.DelayedResult, err error) {
	s.begin()
	defer s.end()
	t := s.slots[r.Topic]
	if t == nil || t.closed {
		return result, subscriptions.ErrGone
	}
	s.appendDue(t)
	for _, d := range t.delayed {
		size := int64(d.message.Size())
		result.Count, result.Bytes = result.Count+1, result.Bytes+size
		place := subscriptions.DelayedPlace{Milli: d.due, ID: d.message.ID}
		if cmp.Or(cmp.Compare(place.Milli, r.After.Milli), place.ID.Compare(r.After.ID)) <= 0 {
			continue
		}
		if len(result.Messages) == min(r.Max, stepMax) {
			result.More = r.Max > 0
			continue
		}
		m := cloneMessage(d.message)
		m.Data = nil
		result.Messages = append(result.Messages, subscriptions.DelayedMessage{Message: m, Due: time.UnixMilli(d.due).UTC(), Bytes: size})
	}
	return result, nil
}

// CancelDelayed implements subscriptions.Delays.
func (s *Store) CancelDelayed(_ context.Context, uid string, ids []subscriptions.MessageID) (cancelled []subscriptions.MessageID, err error) {
	s.begin()
	defer s.end()
	t := s.slots[uid]
	if t == nil || t.closed {
		return nil, subscriptions.ErrGone
	}
	for _, id := range ids {
		i := slices.IndexFunc(t.delayed, func(d delayed) bool { return d.message.ID == id && d.due > s.now })
		if i >= 0 {
			t.delayed = slices.Delete(t.delayed, i, i+1)
			cancelled = append(cancelled, id)
		}
	}
	return cancelled, nil
}
