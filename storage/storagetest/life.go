package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var living = []check{
	{"opening again", openAgain},
	{"a topic that was never opened", neverOpened},
	{"a closed topic takes nothing more", closeRefuses},
	{"a closed topic's subscriptions go on", closeLeaves},
	{"closing empties a topic without subscriptions", closeEmpties},
	{"a closed topic is not opened again", closeForGood},
	{"closing what is not there", closeAbsent},
	{"attaching again", attachAgain},
	{"attached names", attachedNames},
	{"dropping", dropForgets},
	{"dropping the last one of a closed topic", dropLast},
	{"dropping what is not there", dropAbsent},
}

func openAgain(r *rig) {
	t, s := r.one()
	t.publish("a")
	r.ok(r.Store.OpenTopic(r.Context(), t.ref))
	t.ref.Revision = 3
	r.ok(r.Store.OpenTopic(r.Context(), t.ref))
	r.is(r.Store.OpenTopic(r.Context(), subscriptions.TopicRef{UID: t.ref.UID, Revision: 2}), subscriptions.ErrStale)
	same(r, "number", t.publish("b")[0].N(), 2)
	s.leases(10, "a", "b")
}

func neverOpened(r *rig) {
	ref := subscriptions.TopicRef{UID: unique("t"), Revision: 1}
	sub := subscriptions.Ref{Topic: ref.UID, Subscription: unique("s"), Revision: 1}
	r.is(r.Store.Attach(r.Context(), sub, subscriptions.SubscriptionName{Project: "p", ID: "s"}), subscriptions.ErrGone)
	r.is(r.Store.AppendDead(r.Context(), ref, "s", letters("a"), day), subscriptions.ErrGone)
	names, err := r.Store.Attached(r.Context(), ref.UID)
	r.ok(err)
	same(r, "attached", len(names), 0)
	more, err := r.Store.Trim(r.Context(), ref.UID)
	r.ok(err)
	same(r, "more", more, false)
	r.ok(r.Store.ForgetDead(r.Context(), ref.UID, "s", []subscriptions.MessageID{{Milli: 1, Seq: 10_000}}))
	same(r, "log", r.LogLength(ref.UID), 0)
}

func (t *topic) close() {
	t.Helper()
	t.ok(t.Store.CloseTopic(t.Context(), t.ref.UID))
}

func closeRefuses(r *rig) {
	t, s := r.one()
	t.close()
	_, err := r.Store.Publish(r.Context(), t.ref, letters("a"))
	r.is(err, subscriptions.ErrGone)
	r.is(r.Store.AppendDead(r.Context(), t.ref, "s", letters("a"), day), subscriptions.ErrGone)
	other := s.ref
	other.Subscription = unique("s")
	r.is(r.Store.Attach(r.Context(), other, s.name), subscriptions.ErrGone)
	r.is(r.Store.Attach(r.Context(), s.ref, s.name), subscriptions.ErrGone)
	same(r, "stats", s.stats(), subscriptions.Stats{})
}

func closeLeaves(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	ds := s.leases(1, "a")
	t.close()
	t.close()
	t.attached(s)
	s.ack(ds...)
	ds = s.leases(1, "b")
	s.nack(ds...)
	s.extend(time.Hour, s.leases(1, "b")...)
	s.release(s.leases(1, "c")...)
	s.ref.Revision++
	r.ok(r.Store.Revise(r.Context(), s.ref))
	s.sweep(10)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Bytes: 2, Acked: 1, Nacked: 1})
	s.ack(s.leases(10, "c")...)
}

func closeEmpties(r *rig) {
	t := r.topic()
	r.ok(r.Store.AppendDead(r.Context(), t.ref, "s", letters("a", "b"), day))
	same(r, "log", t.length(), 2)
	t.close()
	same(r, "log", t.length(), 0)
}

func closeForGood(r *rig) {
	t := r.topic()
	t.close()
	r.is(r.Store.OpenTopic(r.Context(), t.ref), subscriptions.ErrGone)
	t, s := r.one()
	t.close()
	r.is(r.Store.OpenTopic(r.Context(), t.ref), subscriptions.ErrGone)
	s.drop()
	t.ref.Revision = 100
	r.is(r.Store.OpenTopic(r.Context(), t.ref), subscriptions.ErrGone)
}

func closeAbsent(r *rig) {
	ref := subscriptions.TopicRef{UID: unique("t"), Revision: 1}
	r.ok(r.Store.CloseTopic(r.Context(), ref.UID))
	r.ok(r.Store.OpenTopic(r.Context(), ref)) // it was not closed, for there was nothing
	r.ok(r.Store.CloseTopic(r.Context(), ref.UID))
	r.ok(r.Store.CloseTopic(r.Context(), ref.UID))
	r.is(r.Store.OpenTopic(r.Context(), ref), subscriptions.ErrGone)
}

func attachAgain(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.leases(1, "a")
	r.ok(r.Store.Attach(r.Context(), s.ref, s.name))
	s.ref.Revision = 2
	r.ok(r.Store.Attach(r.Context(), s.ref, s.name))
	stale := s.ref
	stale.Revision = 1
	r.is(r.Store.Attach(r.Context(), stale, s.name), subscriptions.ErrStale)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Outstanding: 1, Bytes: 2})
	t.attached(s)
}

// attached checks whose names are attached.
func (t *topic) attached(want ...*sub) {
	t.Helper()
	names, err := t.Store.Attached(t.Context(), t.ref.UID)
	t.ok(err)
	same(t.rig, "how many are attached", len(names), len(want))
	for i, s := range want {
		same(t.rig, "attached", names[i], s.name)
	}
}

func attachedNames(r *rig) {
	t := r.topic()
	t.attached()
	var subs []*sub
	// In order of the text: "-" comes before "/", and a name is no path of parts.
	for _, name := range []subscriptions.SubscriptionName{
		{Project: "a-b", ID: "zzz"}, {Project: "a", ID: "B"}, {Project: "a", ID: "a"}, {Project: "ab", ID: "a"},
	} {
		s := &sub{rig: r, name: name, ref: subscriptions.Ref{Topic: t.ref.UID, Subscription: unique("s"), Revision: 1}}
		subs = append(subs, s)
	}
	for _, i := range []int{2, 0, 3, 1} {
		r.ok(r.Store.Attach(r.Context(), subs[i].ref, subs[i].name))
	}
	t.attached(subs...)
	subs[1].drop()
	t.attached(subs[0], subs[2], subs[3])
}

func dropForgets(r *rig) {
	t, s := r.one()
	other := t.attach()
	t.publish("a", "b", "c")
	ds := s.leases(2, "a", "b")
	s.drop()
	t.attached(other)
	_, err := r.Store.Stats(r.Context(), s.ref)
	r.is(err, subscriptions.ErrGone)
	other.leases(10, "a", "b", "c")
	// Attached again it starts anew.
	r.ok(r.Store.Attach(r.Context(), s.ref, s.name))
	same(r, "stats", s.stats(), subscriptions.Stats{})
	s.ack(ds...)
	same(r, "stats", s.stats(), subscriptions.Stats{})
	s.leases(10)
}

func dropLast(r *rig) {
	t, s := r.one()
	other := t.attach()
	t.publish("a", "b")
	s.leases(1, "a")
	t.close()
	s.drop()
	t.attached(other)
	other.leases(10, "a", "b")
	other.drop()
	t.attached()
	same(r, "log", t.length(), 0)
	_, err := r.Store.Lease(r.Context(), other.request(1))
	r.is(err, subscriptions.ErrGone)
}

func dropAbsent(r *rig) {
	t, s := r.one()
	r.ok(r.Store.Drop(r.Context(), t.ref.UID, unique("s")))
	r.ok(r.Store.Drop(r.Context(), unique("t"), s.ref.Subscription))
	s.drop()
	s.drop()
	t.publish("a")
	t.close()
	s.drop()
	t.attached()
}

// letters are messages with the ids 1, 2, … that they would have at their source.
func letters(data ...string) []subscriptions.Message {
	msgs := make([]subscriptions.Message, len(data))
	for i, d := range data {
		msgs[i] = subscriptions.Message{ID: subscriptions.NewMessageID(1_700_000_000_000, int64(i+1), 1), Data: []byte(d)}
	}
	return msgs
}
