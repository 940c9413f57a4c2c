package storagetest

import (
	"cmp"
	"slices"
	"time"

	"pgregory.net/rapid"

	"postrider/subscriptions"
)

// modelDelayed is a message that is not due yet.
type modelDelayed struct {
	due        int64
	id         subscriptions.MessageID
	attributes map[string]string
}

// drawTiming draws when a message is due, which most are at once, and how long it lives. What has an ordering key is never
// delayed.
func (m *machine) drawTiming(key string) (t subscriptions.Timing) {
	if rapid.IntRange(0, 3).Draw(m.T, "lives") == 3 {
		t.TTL = time.Duration(rapid.SampledFrom([]int64{1, 5000, 20_000, 3_600_000}).Draw(m.T, "ttl")) * time.Millisecond
	}
	if key != "" || rapid.IntRange(0, 3).Draw(m.T, "delayed") < 3 {
		return t
	}
	d := time.Duration(rapid.SampledFrom([]int64{1, 1000, 5000, 60_000, 3_600_000}).Draw(m.T, "delay")) * time.Millisecond
	if rapid.Bool().Draw(m.T, "at") {
		t.DeliverAt = m.sides[0].Clock.Now().Add(d - time.Second) // it may have passed
	} else {
		t.Delay = d
	}
	return t
}

// sentTimed notes what was published.
func (t *modelTopic) sentTimed(m *machine, msgs []subscriptions.Message, ids []subscriptions.MessageID) {
	for i, msg := range msgs {
		due := m.now() + msg.Timing.Delay.Milliseconds()
		if at := msg.Timing.DeliverAt; !at.IsZero() {
			due = at.UnixMilli()
		}
		if msg.Timing.TTL > 0 {
			t.over[ids[i]] = max(due, m.now()) + msg.Timing.TTL.Milliseconds()
		}
		switch {
		case !msg.Timing.IsDelayed():
			t.attributes = append(t.attributes, msg.Attributes)
			t.published(m, ids[i])
		case due <= m.now():
			t.attributes = append(t.attributes, msg.Attributes)
			t.n++
		default:
			t.delayed = append(t.delayed, modelDelayed{due, ids[i], msg.Attributes})
		}
	}
}

// becomeDue notes what a step has appended by now. No step of the machine leaves more behind than the next one appends.
func (t *modelTopic) becomeDue(now int64) {
	slices.SortFunc(t.delayed, func(a, b modelDelayed) int { return cmp.Or(cmp.Compare(a.due, b.due), a.id.Compare(b.id)) })
	for len(t.delayed) > 0 && t.delayed[0].due <= now {
		t.n++
		t.attributes = append(t.attributes, t.delayed[0].attributes)
		t.delayed = t.delayed[1:]
	}
}

// appendDue does what servers do for topics at which nobody looks.
func (m *machine) appendDue() {
	t := m.anyTopic()
	next := must(m, "append due", func(s subscriptions.Store) (time.Duration, error) { return s.AppendDue(ctx, t.ref.UID) })
	t.becomeDue(m.now())
	want := time.Duration(-1)
	if len(t.delayed) > 0 {
		want = time.Duration(t.delayed[0].due-m.now()) * time.Millisecond
	}
	if next != want {
		m.Fatalf("the next message is due in %s, want %s", next, want)
	}
}

// listDelayed compares what is delayed, in pages of any size.
func (m *machine) listDelayed() {
	t := m.anyTopic()
	q := subscriptions.DelayedRequest{Topic: t.ref.UID, Max: rapid.IntRange(1, 5).Draw(m.T, "page size")}
	all := must(m, "delayed", func(s subscriptions.Store) (all []subscriptions.DelayedMessage, err error) {
		for q, more := q, true; more && err == nil; {
			var page subscriptions.DelayedResult
			page, err = s.Delayed(ctx, q)
			for _, msg := range page.Messages {
				q.After = subscriptions.DelayedPlace{Milli: msg.Due.UnixMilli(), ID: msg.Message.ID}
			}
			all, more = append(all, page.Messages...), page.More
		}
		return all, err
	})
	t.becomeDue(m.now())
	if len(all) != len(t.delayed) {
		m.Fatalf("%d messages are delayed, want %d", len(all), len(t.delayed))
	}
}

func (m *machine) cancelDelayed() {
	t := m.anyTopic()
	if len(t.delayed) == 0 {
		m.Skip("nothing is delayed")
	}
	i := rapid.IntRange(0, len(t.delayed)-1).Draw(m.T, "message")
	ids := []subscriptions.MessageID{t.delayed[i].id, {Milli: 1, Seq: 1}}
	got := must(m, "cancel", func(s subscriptions.Store) ([]subscriptions.MessageID, error) {
		return s.CancelDelayed(ctx, t.ref.UID, ids)
	})
	if cancelled := len(got) == 1 && got[0] == ids[0]; cancelled != (t.delayed[i].due > m.now()) {
		m.Fatalf("%v were cancelled of %v, due in %d ms", got, ids, t.delayed[i].due-m.now())
	}
	if len(got) > 0 {
		t.delayed = slices.Delete(t.delayed, i, i+1)
	}
}
