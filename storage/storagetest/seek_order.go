package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

// The cases of seeks that are about order, bounds and age.

func seekOrder(r *rig) {
	t, s := r.ordered()
	start := r.Clock.Now()
	t.send("a1", "a2", "b1", "a3", "-1")
	ds := s.leasesRun(2, "a1", "a2", "b1", "-1")
	s.ack(ds[1], ds[2]) // a2 provisionally
	s.seek(start)
	t.send("a4", "b2")
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 6, Bytes: 17, Acked: 1})
	ds = s.leasesRun(1, "a1", "-1", "b2")
	s.ack(ds...)
	s.ack(s.leasesRun(2, "a2", "a3")...)
	s.ack(s.leasesRun(1, "a4")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 7})
	t.holds(0)
}

func seekLeft(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	start := r.Clock.Now()
	t.send("a0", "a1", "a2", "a3", "a4", "b0", "a5")
	s.leasesRun(1, "a0", "b0")
	s.seek(start)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 7, Bytes: 21})
	t.send("a6", "b1")
	s.ack(s.leasesRun(1, "a0", "b0")...)
	s.ack(s.leasesRun(1, "a1", "b1")...)
	for i := 2; i < 7; i++ {
		s.ack(s.leasesRun(1, fmt.Sprint("a", i))...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 9})
	t.holds(0)
}

func seekLeftRetained(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.retain(time.Hour)
	start := r.Clock.Now()
	t.send("a0", "a1", "a2", "a3", "a4", "b0", "a5")
	s.ack(s.leasesRun(1, "a0", "b0")...)
	s.seek(start)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 7, Bytes: 21, Acked: 2})
	s.ack(s.leasesRun(1, "a0", "b0")...)
	for i := 1; i < 6; i++ {
		s.ack(s.leasesRun(1, fmt.Sprint("a", i))...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 9})
}

func seekLeftAcked(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3")
	r.Clock.Advance(time.Minute)
	middle := r.Clock.Now()
	t.send("a4", "b0", "a5")
	s.ack(s.leasesRun(1, "a0", "b0")...)
	s.seek(middle) // of what a left, a3 is acked; what b left behind that comes again
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 3, Bytes: 9, Acked: 2})
	s.ack(s.leasesRun(1, "a4", "b0")...)
	s.ack(s.leasesRun(1, "a5")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 5})
	r.Clock.Advance(time.Minute)
	t.send("a6", "a7", "a8", "a9")
	s.leasesRun(1, "a6")
	s.seek(r.Clock.Now().Add(time.Second))
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 5})
	t.trim()
	t.holds(0)
}

func seekBound(r *rig) {
	t, s := r.one()
	start := r.Clock.Now()
	t.publish("a", "b", "c", "d")
	s.lease(3)
	s.seek(start)
	s.rules.Outstanding = 2
	result := s.leaseWith(s.request(10))
	same(r, "leased", data(result.Deliveries), []string{"a", "b"})
	same(r, "more", result.More, false)
	s.ack(result.Deliveries[0])
	s.ack(s.leases(10, "c")...)
	s.leases(10, "d")
}

func seekHalf(r *rig) {
	t, s := r.one()
	start := r.Clock.Now()
	t.publish("a", "b", "c", "d", "e", "f")
	s.lease(6)
	s.seek(start)
	s.nack(s.leases(3, "a", "b", "c")...)
	s.leases(4, "a", "b", "d", "e")
}

func seekOld(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	start := r.Clock.Now()
	t.publish("a", "b")
	s.lease(2)
	r.Clock.Advance(time.Minute)
	t.publish("c")
	s.lease(1)
	s.seek(start)
	r.Clock.Advance(time.Hour)
	s.leases(10, "c")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1, OldestAge: time.Hour, Dropped: 2, Expired: 2})
	s.seek(start)
	t.publish("d")
	r.Clock.Advance(time.Minute + time.Hour)
	t.publish("e")
	s.leases(10, "e")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1, Dropped: 4, Expired: 2})
}

func seekOldSwept(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	start := r.Clock.Now()
	t.several(250)
	for range 3 {
		s.lease(100)
	}
	r.Clock.Advance(time.Minute)
	t.publish("young")
	s.lease(1)
	s.seek(start)
	r.Clock.Advance(time.Hour)
	same(r, "more", s.sweep(10).More, true)
	for s.sweep(10).More {
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 5, OldestAge: time.Hour, Dropped: 250, Expired: 200})
	t.trim()
	t.holds(1)
}

// seekLeftBound is about what a key left in the log: how much a seek changes of that is bounded, and said to be.
func seekLeftBound(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	bound := func(would subscriptions.SeekResult, want bool) {
		r.Helper()
		same(r, "upper bound", would.UpperBound, want)
	}
	start := r.Clock.Now()
	t.send("a0", "a1", "a2")
	s.ack(s.leasesRun(1, "a0")...)
	before := s.snapshot()
	bound(s.wouldSeek(start), false)
	t.send("a3", "a4", "a5", "b0")
	s.leasesRun(1, "a1", "b0")
	bound(s.wouldSeek(start), false) // all that was left stays so
	bound(s.wouldRestore(before), true)
	r.Clock.Advance(time.Minute)
	would := s.wouldSeek(r.Clock.Now())
	bound(would, true)
	if stats := s.stats(); would.Acked < stats.Undelivered+stats.Outstanding {
		r.Fatalf("%d would be acked of %+v", would.Acked, stats)
	}
	left := s.snapshot()
	s.drain()
	s.seek(r.Clock.Now())
	bound(s.wouldSeek(start), false)
	bound(s.wouldRestore(left), true)
	bound(s.wouldRestore(before), false)
}
