package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var vanishing = []check{
	{"under a lease", vanishLeased},
	{"while waiting", vanishWaiting},
	{"acked all the same", vanishAcked},
	{"settled all the same", vanishSettled},
	{"dead", vanishDead},
	{"ahead of the cursor", vanishAhead},
	{"all that lies ahead", vanishAllAhead},
	{"one of two subscriptions", vanishOther},
}

func (t *topic) vanish(ids ...subscriptions.MessageID) {
	for _, id := range ids {
		t.Vanish(t.ref.UID, id)
	}
}

// counts are stats without what a store cannot know of messages that vanished.
func (s *sub) counts() subscriptions.Stats {
	s.Helper()
	stats := s.stats()
	if stats.Undelivered+stats.Outstanding > 0 {
		stats.Bytes = 0
	}
	stats.OldestAge = 0
	return stats
}

func vanishLeased(r *rig) {
	t, s := r.one()
	ids := t.publish("a", "b", "c")
	s.leases(10, "a", "b", "c")
	t.vanish(ids[0], ids[2])
	r.Clock.Advance(deadline)
	d := s.leases(10, "b")
	same(r, "counts", s.counts(), subscriptions.Stats{Outstanding: 1, Lost: 2, Expired: 3})
	t.publish("d")
	s.ack(d...)
	s.ack(s.leases(10, "d")...)
	same(r, "counts", s.counts(), subscriptions.Stats{Acked: 2, Lost: 2, Expired: 3})
	t.holds(0)
}

func vanishWaiting(r *rig) {
	t, s := r.one()
	ids := t.publish("a", "b")
	s.nack(s.leases(10, "a", "b")...)
	t.vanish(ids[0])
	s.leases(1, "b") // a does not count towards Max
	same(r, "counts", s.counts(), subscriptions.Stats{Outstanding: 1, Lost: 1, Nacked: 2})
}

func vanishAcked(r *rig) {
	t, s := r.one()
	ids := t.publish("a")
	d := s.leaseOne()
	t.vanish(ids...)
	s.ack(d)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1})
}

func vanishSettled(r *rig) {
	t, s := r.one()
	ids := t.publish("a")
	s.kill("a")
	dead := s.sweep(10).Dead
	t.vanish(ids...)
	s.settle(dead...)
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 1, DeadLettered: 1})
}

func vanishDead(r *rig) {
	t, s := r.one()
	ids := t.publish("a", "b")
	s.kill("a", "b")
	t.vanish(ids[0])
	same(r, "dead", data(s.sweep(10).Dead), []string{"b"})
	same(r, "counts", s.counts(), subscriptions.Stats{Outstanding: 1, Dead: 1, Lost: 1, Nacked: 2})
}

func vanishAhead(r *rig) {
	t, s := r.one()
	ids := t.publish("a", "b", "c", "d")
	t.vanish(ids[0], ids[2])
	ds := s.leases(10, "b", "d")
	same(r, "counts", s.counts(), subscriptions.Stats{Outstanding: 2, Lost: 2})
	s.ack(ds...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Lost: 2})
}

func vanishAllAhead(r *rig) {
	t, s := r.one()
	t.vanish(t.publish("a", "b", "c")...)
	result := s.leaseWith(s.request(10))
	same(r, "lease", result, subscriptions.LeaseResult{NextDue: -1})
	same(r, "stats", s.stats(), subscriptions.Stats{Lost: 3})
	t.publish("d")
	s.leases(10, "d")
}

func vanishOther(r *rig) {
	t, s := r.one()
	other := t.attach()
	ids := t.publish("a", "b")
	s.leases(1, "a")
	t.vanish(ids[0])
	other.leases(10, "b")
	same(r, "counts", other.counts(), subscriptions.Stats{Outstanding: 1, Lost: 1})
	r.Clock.Advance(deadline + time.Second)
	s.leases(10, "b")
	same(r, "counts", s.counts(), subscriptions.Stats{Outstanding: 1, Lost: 1, Expired: 1})
}
