package storagetest

import "postrider/subscriptions"

// The cases of filtering in which order is kept.

func filterRun(r *rig) {
	t, s := r.picky()
	s.rules.Ordered = true
	t.picked("a1+", "a2", "b1", "a3+", "b2+")
	ds := s.leasesRun(2, "a1+", "a3+", "b2+")
	s.nack(ds[0])
	s.leasesRun(2, "a1+", "a3+")
}

func filterParked(r *rig) {
	t, s := r.picky()
	s.rules.Ordered = true
	t.picked("a1+", "a2", "a3+", "a4", "a5")
	ds := s.leasesRun(1, "a1+")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Parked: 1, Bytes: 22, Filtered: 3})
	s.ack(ds...)
	s.ack(s.leasesRun(1, "a3+")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Filtered: 3})
	t.holds(0)
}

func filterOverflow(r *rig) {
	t, s := r.picky()
	s.rules.Ordered, s.rules.Outstanding = true, 4
	t.picked("a0+", "a", "a1+", "a2+", "a", "a3+", "b", "a", "a4+", "b0+", "a")
	ds := s.leasesRun(1, "a0+", "b0+")
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 2, Outstanding: 4, Parked: 2, Bytes: 66, Filtered: 5})
	s.ack(ds...)
	for _, next := range []string{"a1+", "a2+", "a3+", "a4+"} {
		s.ack(s.leasesRun(1, next)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 6, Filtered: 5})
	t.holds(0)
}

func filterOverflowSweep(r *rig) {
	t, s := r.picky()
	s.rules.Ordered, s.rules.Outstanding = true, 4
	t.picked("a0+", "a", "a1+", "a", "a2+", "a", "a3+", "a")
	for _, next := range []string{"a0+", "a1+", "a2+"} {
		s.ack(s.leasesRun(1, next)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 11, Acked: 3, Filtered: 4})
	for s.sweep(10).More {
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 11, Acked: 3, Filtered: 4})
	s.leasesRun(1, "a3+")
}

func filterOverflowFar(r *rig) {
	t, s := r.picky()
	s.rules.Ordered, s.rules.Outstanding = true, 4
	t.picked("d0+", "d1+", "d2+", "d3+")
	t.dull(500)
	t.picked("d4+", "e+")
	ds := s.leasesRun(1, "d0+")
	for _, next := range []string{"d1+", "d2+", "d3+", "d4+"} {
		s.ack(ds...)
		ds, _ = s.eventually(1)
		same(r, "leased", data(ds), []string{next})
	}
	s.ack(ds...)
	ds, _ = s.eventually(1)
	same(r, "leased", data(ds), []string{"e+"})
	s.ack(ds...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 6, Filtered: 500})
	t.holds(0)
}
