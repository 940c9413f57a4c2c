package storagetest

import (
	"time"

	"postrider/subscriptions"
)

// Late acks of messages with an ordering key.

func orderLate(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1")
	ds := s.leasesRun(100, "a0", "a1")
	s.nack(ds[0])
	s.ack(ds[1])
	again := s.leasesRun(100, "a0", "a1")
	s.ack(ds[1]) // of the delivery before
	s.ack(again[0])
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 3, Acked: 1, Nacked: 1})
	s.ack(ds[1]) // the head now: late acks count
	same(r, "acked", s.stats().Acked, 2)
}

// Who sees a message for the second time sees all that follow it, too, also when another had acked those.
func orderLateNext(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1", "a2", "a3")
	ds := s.leasesRun(100, "a0", "a1", "a2", "a3")
	s.nack(ds[0])
	again := s.leasesRun(1, "a0")
	s.ack(again...)
	s.ack(ds[1:]...) // a1 is the head, sent back and not leased
	same(r, "acked", s.stats().Acked, 1)
	s.leasesRun(1, "a1")
	s.ack(ds[1:]...) // a1 has come again, the others have not
	same(r, "acked", s.stats().Acked, 2)
	again = s.leasesRun(100, "a2", "a3")
	same(r, "attempts", []int{again[0].Attempt, again[1].Attempt}, []int{1, 1})
}

// Who is only late with a whole run has it acked: none of it has come again.
func orderLateHead(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Hour)
	t.send("a0", "a1", "a2", "a3")
	ds := s.leasesRun(3, "a0", "a1", "a2")
	s.nack(ds[0])
	s.ack(ds...)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 3, Acked: 3, Nacked: 1})
	s.leasesRun(100, "a3")
}

func orderLateAndCurrent(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1")
	ds := s.leasesRun(100, "a0", "a1")
	s.release(ds...)
	again := s.leasesRun(100, "a0", "a1")
	s.ack(ds[1], again[1], again[1], again[0])
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2})
}
