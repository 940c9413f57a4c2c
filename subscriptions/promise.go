package subscriptions

import (
	"container/heap"
	"context"
	"time"
)

// A message that is due is appended to the log by whoever looks at the topic
// first: who waits for messages has a timer for it. Where nobody waits, its
// retention begins late unless a server sees to it. The server that owns the
// topic does so now and then, and in time the one that published the message,
// which alone knows of it at no cost. Should that one end, the owner is late.

// promise has this server look after a topic when the first of these messages is
// due, if any is delayed.
func (w *sweeper) promise(topicUID string, msgs []Message) {
	first, any := time.Duration(0), false
	for _, m := range msgs {
		if !m.Timing.IsDelayed() {
			continue
		}
		d := m.Timing.Delay
		if !m.Timing.DeliverAt.IsZero() {
			d = time.Until(m.Timing.DeliverAt) // a wrong clock does no harm: a sweep tells how long it really is
		}
		if !any || d < first {
			first, any = d, true
		}
	}
	if !any {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[topicUID]
	if e == nil {
		e = &sweepEntry{uid: topicUID, at: time.Now().Add(first)}
		w.entries[topicUID] = e
		heap.Push(&w.queue, e)
	}
	e.promised = true
	w.forward(e, time.Now().Add(first))
	if e.index == 0 {
		signal(w.changed)
	}
}

// sweepTopic appends what is due and trims the log. It returns how long it is
// until the next message is due; negative without one.
func (w *sweeper) sweepTopic(ctx context.Context, uid string) (next time.Duration) {
	for ctx.Err() == nil {
		var err error
		if next, err = w.s.store.AppendDue(ctx, uid); err != nil {
			w.s.logFailure(ctx, "append what is due", uid, err)
			return sweepRetry
		}
		if next != 0 {
			break
		}
	}
	w.s.logFailure(ctx, "trim a topic", uid, w.s.trim(ctx, uid))
	return next
}

// finishedTopic is finished for a topic. A promise ends when nothing is delayed.
func (w *sweeper) finishedTopic(e *sweepEntry, next time.Duration) {
	if next >= 0 {
		w.finished(e, min(next, slowDelay()), true, 0)
		return
	}
	w.mu.Lock()
	e.promised = !e.at.IsZero() && e.promised // there is another one by now
	if !e.promised && !e.owned && w.entries[e.uid] == e {
		delete(w.entries, e.uid)
	}
	w.mu.Unlock()
	w.finished(e, slowDelay(), true, 0)
}
