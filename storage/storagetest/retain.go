package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var retaining = []check{
	{"a topic keeps messages though nothing is attached", retainTopic},
	{"a topic's retention goes with its revision", retainRevised},
	{"a publish brings a topic's retention, too", retainPublished},
	{"a topic's retention ends with the topic", retainClosed},
	{"a topic's retention outlasts a subscription's", retainUnacked},
	{"acked messages are kept", retainAcked},
	{"acked messages are kept as the revision says", retainAckedRevised},
	{"the longest retention counts", retainLongest},
	{"dropping the subscription that retained", retainDropped},
}

// retain sets how long every message is kept.
func (t *topic) retain(d time.Duration) {
	t.Helper()
	t.ref.Revision++
	t.ref.Retention = d
	t.ok(t.Store.OpenTopic(t.Context(), t.ref))
}

// retain sets how long acked messages are kept.
func (s *sub) retain(d time.Duration) {
	s.Helper()
	s.ref.Revision++
	s.ref.Retain = d
	s.ok(s.Store.Revise(s.Context(), s.ref))
}

func retainTopic(r *rig) {
	t := r.topic()
	t.several(10)
	t.trim()
	t.holds(0)
	t.retain(time.Hour)
	t.several(200)
	r.Clock.Advance(time.Hour)
	t.several(300)
	t.trim()
	t.holds(500)
	r.Clock.Advance(time.Millisecond)
	t.trim()
	t.holds(300)
	r.Clock.Advance(time.Hour)
	t.trim()
	t.holds(0)
}

func retainRevised(r *rig) {
	t := r.topic()
	t.retain(time.Hour)
	t.several(200)
	old := t.ref
	t.retain(10 * time.Minute)
	same(r, "stale", r.Store.OpenTopic(r.Context(), old), subscriptions.ErrStale)
	r.Clock.Advance(10 * time.Minute)
	t.trim()
	t.holds(200)
	t.retain(0)
	t.trim()
	t.holds(0)
	t.several(5)
	t.holds(0)
}

func retainPublished(r *rig) {
	t := r.topic()
	t.ref.Revision, t.ref.Retention = 5, time.Hour
	t.several(5)
	t.trim()
	t.holds(5)
	r.ok(r.Store.AppendDead(r.Context(), t.ref, "source", letters("a"), time.Minute))
	r.Clock.Advance(time.Hour)
	t.trim()
	t.holds(6)
	r.Clock.Advance(time.Millisecond)
	t.trim()
	t.holds(0)
}

func retainClosed(r *rig) {
	t, s := r.one()
	t.retain(time.Hour)
	t.several(300)
	s.consume(200)
	t.holds(300)
	r.ok(r.Store.CloseTopic(r.Context(), t.ref.UID))
	t.trim()
	t.holds(100)
	s.consume(100)
	s.drop()
	same(r, "log", t.length(), 0)
	other := r.topic()
	other.retain(time.Hour)
	other.several(5)
	r.ok(r.Store.CloseTopic(r.Context(), other.ref.UID))
	same(r, "log", other.length(), 0)
}

func retainUnacked(r *rig) {
	t, s := r.one()
	s.rules.Retention = 10 * time.Minute
	t.retain(time.Hour)
	t.publish("a", "b")
	s.lease(1)
	r.Clock.Advance(time.Hour)
	s.leases(2, "a", "b")
	r.Clock.Advance(time.Millisecond)
	s.sweep(10)
	same(r, "stats", s.stats(), subscriptions.Stats{Dropped: 2, Expired: 1})
}

func retainAcked(r *rig) {
	t, s := r.one()
	s.retain(time.Hour)
	t.several(300)
	s.consume(300)
	t.trim()
	t.holds(300)
	r.Clock.Advance(time.Hour)
	t.several(200)
	s.consume(200)
	t.trim()
	t.holds(500)
	r.Clock.Advance(time.Millisecond)
	t.trim()
	t.holds(200)
	s.sweep(10) // brings the retention, too
	s.ref.Retain = 0
	s.sweep(10)
	t.trim()
	t.holds(0)
}

func retainAckedRevised(r *rig) {
	t, s := r.one()
	s.retain(time.Hour)
	t.several(300)
	s.consume(300)
	s.retain(time.Hour)
	t.trim()
	t.holds(300)
	old := s.ref
	s.retain(0)
	same(r, "stale", r.Store.Revise(r.Context(), old), subscriptions.ErrStale)
	t.trim()
	t.holds(0)
	s.ref.Revision++
	s.ref.Retain = time.Hour
	r.ok(r.Store.Attach(r.Context(), s.ref, s.name))
	t.several(10)
	s.consume(10)
	t.trim()
	t.holds(10)
}

func retainLongest(r *rig) {
	t, s := r.one()
	other := t.attach()
	t.retain(20 * time.Minute)
	s.retain(time.Hour)
	other.retain(30 * time.Minute)
	t.several(200)
	s.consume(200)
	other.consume(200)
	r.Clock.Advance(time.Hour)
	t.trim()
	t.holds(200)
	s.retain(0)
	t.trim()
	t.holds(0)
}

func retainDropped(r *rig) {
	t, s := r.one()
	s.retain(time.Hour)
	t.several(200)
	s.consume(200)
	t.holds(200)
	s.drop()
	t.trim()
	t.holds(0)
}
