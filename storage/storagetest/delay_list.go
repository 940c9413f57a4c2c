package storagetest

import (
	"time"

	"postrider/subscriptions"
)

// What is delayed can be listed and cancelled.

// delayed lists what is not due.
func (t *topic) delayed(q subscriptions.DelayedRequest) subscriptions.DelayedResult {
	t.Helper()
	q.Topic = t.ref.UID
	result, err := t.Store.Delayed(t.Context(), q)
	t.ok(err)
	return result
}

func listsDelayed(r *rig) {
	t, _ := r.one()
	second := delayed("long", 2*time.Second)
	second.Attributes = map[string]string{"k": "v"}
	ids := t.publishAll(second, delayed("c", time.Second), subscriptions.Message{Data: []byte("x")})
	due := r.Clock.Now().Add(time.Second)
	same(r, "list", t.delayed(subscriptions.DelayedRequest{Max: 10}), subscriptions.DelayedResult{
		Messages: []subscriptions.DelayedMessage{
			{Message: subscriptions.Message{ID: ids[1]}, Due: due, Bytes: 1},
			{Message: subscriptions.Message{ID: ids[0], Attributes: second.Attributes}, Due: due.Add(time.Second), Bytes: 6},
		},
		Count: 2, Bytes: 7,
	})
	r.Clock.Advance(time.Second)
	same(r, "sums", t.delayed(subscriptions.DelayedRequest{}), subscriptions.DelayedResult{Count: 1, Bytes: 6})
	r.Clock.Advance(time.Second)
	same(r, "sums", t.delayed(subscriptions.DelayedRequest{}), subscriptions.DelayedResult{})
}

func pagesDelayed(r *rig) {
	t, _ := r.one()
	for i := range 7 {
		t.publishAll(delayed("a", time.Duration(i/3+1)*time.Second)) // several are due at once
	}
	var got []subscriptions.MessageID
	q := subscriptions.DelayedRequest{Max: 2}
	for more := true; more; {
		page := t.delayed(q)
		for _, m := range page.Messages {
			got = append(got, m.Message.ID)
			q.After = subscriptions.DelayedPlace{Milli: m.Due.UnixMilli(), ID: m.Message.ID}
		}
		more = page.More
	}
	same(r, "listed", len(got), 7)
	for i := range got[1:] {
		same(r, "order", got[i].Compare(got[i+1]) < 0, true)
	}
}

func pagesGoOn(r *rig) {
	t, _ := r.one()
	ids := t.publishAll(delayed("a", time.Second), delayed("b", time.Second), delayed("c", time.Second))
	first := t.delayed(subscriptions.DelayedRequest{Max: 2})
	last := first.Messages[1]
	_, err := r.Store.CancelDelayed(r.Context(), t.ref.UID, ids[:2])
	r.ok(err)
	rest := t.delayed(subscriptions.DelayedRequest{Max: 2, After: subscriptions.DelayedPlace{Milli: last.Due.UnixMilli(), ID: last.Message.ID}})
	same(r, "listed", len(rest.Messages), 1)
	same(r, "id", rest.Messages[0].Message.ID, ids[2])
	same(r, "sums", rest.Count, 1)
}

func cancelsDelayed(r *rig) {
	t, s := r.one()
	ids := t.publishAll(delayed("a", time.Second), delayed("b", time.Second), subscriptions.Message{Data: []byte("x")})
	got, err := r.Store.CancelDelayed(r.Context(), t.ref.UID, []subscriptions.MessageID{ids[2], ids[0], ids[0]})
	r.ok(err)
	same(r, "cancelled", got, ids[:1])
	same(r, "bytes", t.delayed(subscriptions.DelayedRequest{}).Bytes, 1)
	r.Clock.Advance(time.Second)
	s.leases(10, "x", "b")
}

func cannotCancelDue(r *rig) {
	t, s := r.one()
	ids := t.publishAll(delayed("a", time.Second))
	r.Clock.Advance(time.Second)
	got, err := r.Store.CancelDelayed(r.Context(), t.ref.UID, ids)
	r.ok(err)
	same(r, "cancelled", len(got), 0)
	s.leases(10, "a")
}

func listsNothingOfClosed(r *rig) {
	t := r.topic()
	r.ok(r.Store.CloseTopic(r.Context(), t.ref.UID))
	for _, uid := range []string{t.ref.UID, unique("t")} {
		_, err := r.Store.Delayed(r.Context(), subscriptions.DelayedRequest{Topic: uid, Max: 1})
		r.is(err, subscriptions.ErrGone)
		_, err = r.Store.CancelDelayed(r.Context(), uid, []subscriptions.MessageID{{Milli: 1, Seq: 1}})
		r.is(err, subscriptions.ErrGone)
		next, err := r.Store.AppendDue(r.Context(), uid)
		r.ok(err)
		same(r, "next", next < 0, true)
	}
}
