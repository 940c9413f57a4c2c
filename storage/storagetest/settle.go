package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var settling = []check{
	{"ack", ackSettles},
	{"ack twice, in one call and later", ackTwice},
	{"ack after the deadline", ackLate},
	{"ack of an earlier delivery", ackEarlier},
	{"ack of what waits", ackWaiting},
	{"ack in any order", ackAnyOrder},
	{"receipts of another epoch have no effect", foreignEpoch},
	{"receipts of unknown messages have no effect", unknownMessage},
	{"extend", extendLease},
	{"extend makes shorter", extendShorter},
	{"extend only the current delivery while leased", extendCurrent},
	{"nack", nackRedelivers},
	{"nack only the current delivery while leased", nackCurrent},
	{"release spends no attempt", releaseFree},
	{"release only the current delivery while leased", releaseCurrent},
}

func ackSettles(r *rig) {
	t, s := r.one()
	t.publish("a", "bb")
	ds := s.leases(10, "a", "bb")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Bytes: 3})
	s.ack(ds[0])
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 2, Acked: 1})
	s.ack(ds[1])
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2})
	r.Clock.Advance(day)
	s.leases(10)
}

func ackTwice(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	s.ack(d, d)
	s.ack(d)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1})
}

func ackLate(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	r.Clock.Advance(time.Hour)
	s.ack(d)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1})
	s.leases(10)
}

func ackEarlier(r *rig) {
	t, s := r.one()
	t.publish("a")
	first := s.leaseOne()
	r.Clock.Advance(deadline)
	second := s.leaseOne()
	s.ack(first)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1, Expired: 1})
	s.ack(second)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1, Expired: 1})
}

func ackWaiting(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	s.nackAtLeast(time.Minute, d)
	s.ack(d)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1, Nacked: 1})
	r.Clock.Advance(time.Minute)
	s.leases(10)
}

func ackAnyOrder(r *rig) {
	t, s := r.one()
	t.publish("a")
	r.Clock.Advance(time.Second)
	t.publish("b")
	r.Clock.Advance(time.Second)
	t.publish("c")
	ds := s.leases(10, "a", "b", "c")
	s.ack(ds[1])
	same(r, "age", s.stats().OldestAge, 2*time.Second)
	s.ack(ds[0])
	same(r, "age", s.stats().OldestAge, 0)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1, Acked: 2})
	s.ack(ds[2])
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3})
}

func foreignEpoch(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	d.Epoch++
	s.ack(d)
	s.nack(d)
	s.release(d)
	s.extend(time.Hour, d)
	s.settle(d)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1})
	r.Clock.Advance(deadline)
	s.leases(1, "a")
}

func unknownMessage(r *rig) {
	t, s := r.one()
	ids := t.publish("a", "b")
	other := t.attach()
	d := s.leases(1, "a")[0]
	for _, id := range []subscriptions.MessageID{ids[1], {Milli: 1, Seq: 10_000}, {Milli: d.Message.ID.Milli + 1, Seq: d.Message.ID.Seq}} {
		d.Message.ID = id
		s.ack(d)
		s.nack(d)
		s.release(d)
		s.extend(time.Hour, d)
		s.settle(d)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Outstanding: 1, Bytes: 2})
	same(r, "stats", other.stats(), subscriptions.Stats{})
	s.leases(10, "b")
}

func extendLease(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	r.Clock.Advance(deadline - time.Millisecond)
	s.extend(time.Minute, d)
	r.Clock.Advance(time.Minute - time.Millisecond)
	s.leases(1)
	r.Clock.Advance(time.Millisecond)
	s.leases(1, "a")
	same(r, "stats", s.stats().Expired, 1)
}

func extendShorter(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	s.extend(time.Second, d)
	r.Clock.Advance(time.Second)
	same(r, "attempt", s.leaseOne().Attempt, 2)
}

func extendCurrent(r *rig) {
	t, s := r.one()
	t.publish("a")
	first := s.leaseOne()
	r.Clock.Advance(deadline)
	s.extend(time.Hour, first) // too late by nothing at all
	second := s.leaseOne()
	s.extend(time.Hour, first) // not the current delivery
	r.Clock.Advance(deadline - time.Millisecond)
	s.extend(time.Second, second)
	r.Clock.Advance(time.Second)
	third := s.leaseOne()
	s.nackAtLeast(time.Second, third)
	s.extend(time.Hour, third) // not leased
	r.Clock.Advance(time.Second)
	s.leases(1, "a")
}

func nackRedelivers(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	ds := s.leases(10, "a", "b")
	s.nack(ds[1])
	d := s.leases(10, "b")[0]
	same(r, "attempt", d.Attempt, 2)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Bytes: 2, Nacked: 1})
}

func nackCurrent(r *rig) {
	t, s := r.one()
	t.publish("a")
	first := s.leaseOne()
	r.Clock.Advance(deadline)
	s.nack(first) // too late by nothing at all
	second := s.leaseOne()
	s.nack(first) // not the current delivery
	s.leases(1)
	s.nackAtLeast(time.Second, second)
	s.nack(second) // not leased
	s.leases(1)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1, OldestAge: deadline, Nacked: 1, Expired: 1})
}

func releaseFree(r *rig) {
	t, s := r.one()
	s.rules.Retry = []subscriptions.Span{{Low: time.Minute, High: time.Minute}}
	t.publish("a")
	for i := range 3 {
		d := s.leaseOne()
		same(r, "number", d.Number, int64(i+1))
		same(r, "attempt", d.Attempt, 1)
		s.release(d)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1})
	s.nack(s.leaseOne())
	r.Clock.Advance(time.Minute)
	d := s.leaseOne()
	same(r, "number", d.Number, 5)
	same(r, "attempt", d.Attempt, 2)
}

func releaseCurrent(r *rig) {
	t, s := r.one()
	t.publish("a")
	first := s.leaseOne()
	r.Clock.Advance(deadline)
	s.release(first) // too late by nothing at all
	second := s.leaseOne()
	same(r, "attempt", second.Attempt, 2)
	s.release(first) // not the current delivery
	s.leases(1)
	s.nackAtLeast(time.Second, second)
	s.release(second) // not leased
	s.leases(1)
	r.Clock.Advance(time.Second)
	same(r, "attempt", s.leaseOne().Attempt, 3)
}
