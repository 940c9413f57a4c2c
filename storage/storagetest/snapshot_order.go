package storagetest

import (
	"time"

	"postrider/subscriptions"
)

// The cases of snapshots that are about order.

func snapshotOrder(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "b1", "a3", "a4")
	ds := s.leasesRun(2, "a1", "a2", "b1")
	s.ack(ds[0])
	n := s.snapshot()
	s.ack(ds[1:]...)
	s.drain()
	t.send("a5", "b2")
	s.restore(n)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 6, Bytes: 18, Acked: 5})
	ds = s.leasesRun(2, "a2", "b1", "a3", "b2")
	s.nack(ds[0])
	s.ack(ds[1], ds[3])
	s.ack(s.leasesRun(1, "a2")...)
	s.ack(s.leasesRun(9, "a3", "a4", "a5")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 11, Nacked: 1})
}

func snapshotLeft(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3", "a4", "b0", "a5")
	s.ack(s.leasesRun(1, "a0", "b0")[0])
	n := s.snapshot()
	s.drain()
	s.seek(r.Clock.Now().Add(time.Hour))
	t.send("a6")
	s.restore(n)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 7, Bytes: 21, Acked: s.stats().Acked})
	t.trim()
	var got []string
	for more := true; more; {
		request := s.request(10)
		request.Run = 1
		result := s.leaseWith(request)
		got, more = append(got, data(result.Deliveries)...), len(result.Deliveries) > 0
		s.ack(result.Deliveries...)
	}
	same(r, "order", got, []string{"a1", "b0", "a2", "a3", "a4", "a5", "a6"})
	n.drop()
	t.holds(0)
}

func snapshotUnordered(r *rig) {
	t, s := r.one()
	t.send("a1", "a2", "b1")
	s.leases(10, "a1", "a2", "b1")
	n := s.snapshot()
	other := t.attach()
	other.rules.Ordered = true
	other.restore(n)
	t.send("a3")
	other.ack(other.leasesRun(1, "a1", "b1")...)
	other.ack(other.leasesRun(1, "a2")...)
	other.ack(other.leasesRun(1, "a3")...)
}

func snapshotIntoUnordered(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3", "a4", "b0")
	s.leasesRun(1, "a0", "b0")
	n := s.snapshot()
	other := t.attach()
	other.restore(n)
	same(r, "stats", other.stats(), subscriptions.Stats{Undelivered: 6, Bytes: 18})
	got := map[string]bool{}
	for range 10 {
		ds := other.lease(10)
		for _, d := range ds {
			got[string(d.Message.Data)] = true
		}
		other.ack(ds...)
	}
	same(r, "messages", len(got), 6)
	same(r, "stats", other.stats(), subscriptions.Stats{Acked: 6})
}
