package storagetest

import (
	"fmt"
	"slices"
	"time"

	"postrider/subscriptions"
)

var confirming = []check{
	{"a current ack", confirmCurrent},
	{"an ack after the lease", confirmExpired},
	{"an ack of an earlier delivery", confirmSuperseded},
	{"an ack of what was nacked, or released", confirmReturned},
	{"an ack of what an ack settled", confirmSettled},
	{"good acks beside bad ones", confirmMixed},
	{"a repeated ack, until its lease would have ended", confirmRepeated},
	{"a repeated ack of an extended lease", confirmRepeatedExtended},
	{"an ack of another epoch", confirmEpoch},
	{"a dead message", confirmDead},
	{"the head of a key, and what follows", confirmOrdered},
	{"a run in one call", confirmRun},
	{"more acks than one step takes", confirmMany},
	{"extensions and nacks tell what they missed", missedTold},
	{"the log is cut", confirmTrims},
	{"waiters hear of a freed place", confirmWake},
}

// confirm confirms deliveries and checks which were missed, as over and as early.
func (s *sub) confirm(ds []subscriptions.Delivery, over, early []subscriptions.Delivery) {
	s.Helper()
	missed, err := s.Store.Confirm(s.Context(), s.ref, receipts(ds))
	s.ok(err)
	same(s.rig, "over", fmt.Sprint(missed.Over), fmt.Sprint(receipts(over)))
	same(s.rig, "early", fmt.Sprint(missed.Early), fmt.Sprint(receipts(early)))
}

func confirmCurrent(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.confirm(s.lease(1), nil, nil)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1})
	t.holds(0)
}

func confirmExpired(r *rig) {
	t, s := r.one()
	t.publish("a")
	ds := s.lease(1)
	r.Clock.Advance(deadline) // the lease lasts until then, and not at that moment
	s.confirm(ds, ds, nil)
	again := s.leaseOne()
	s.confirm(ds, ds, nil)
	r.Clock.Advance(deadline - time.Millisecond)
	s.confirm([]subscriptions.Delivery{again}, nil, nil)
	same(r, "acked", s.stats().Acked, int64(1))
}

func confirmSuperseded(r *rig) {
	t, s := r.one()
	t.publish("a")
	first := s.lease(1)
	s.nack(first...)
	second := s.lease(1)
	s.confirm(first, first, nil)
	same(r, "acked", s.stats().Acked, int64(0))
	s.confirm(second, nil, nil)
}

func confirmReturned(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(time.Hour)
	t.publish("a", "b")
	ds := s.lease(2)
	s.nack(ds[0])
	s.release(ds[1])
	s.confirm(ds, ds, nil)
	same(r, "outstanding", s.stats().Outstanding, int64(2))
}

func confirmSettled(r *rig) {
	t, s := r.one()
	t.publish("a")
	ds := s.lease(1)
	s.ack(ds...)
	s.confirm(ds, ds, nil) // that ack was none whose effect is remembered
}

func confirmMixed(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	ds := s.lease(3)
	s.nack(ds[1])
	s.confirm(ds, ds[1:2], nil)
	got := s.stats()
	same(r, "acked", got.Acked, int64(2))
	same(r, "outstanding", got.Outstanding, int64(1))
}

func confirmRepeated(r *rig) {
	t, s := r.one()
	t.publish("a")
	ds := s.lease(1)
	s.confirm(ds, nil, nil)
	r.Clock.Advance(deadline - time.Millisecond)
	s.confirm(ds, nil, nil)
	same(r, "acked", s.stats().Acked, int64(1))
	r.Clock.Advance(time.Millisecond)
	s.confirm(ds, ds, nil)
}

func confirmRepeatedExtended(r *rig) {
	t, s := r.one()
	t.publish("a")
	ds := s.lease(1)
	s.extend(time.Hour, ds...)
	s.confirm(ds, nil, nil)
	r.Clock.Advance(time.Hour - time.Millisecond)
	s.confirm(ds, nil, nil)
	r.Clock.Advance(time.Millisecond)
	s.confirm(ds, ds, nil)
}

func confirmEpoch(r *rig) {
	t, s := r.one()
	t.publish("a")
	ds := s.lease(1)
	ds[0].Epoch++
	s.confirm(ds, ds, nil)
	same(r, "outstanding", s.stats().Outstanding, int64(1))
}

func confirmDead(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 1
	t.publish("a")
	ds := s.lease(1)
	s.nack(ds...)
	s.confirm(ds, ds, nil)
	same(r, "dead", s.stats().Dead, int64(1))
}

func confirmOrdered(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "a3", "b1")
	ds := s.leasesRun(2, "a1", "a2", "b1")
	s.confirm(ds[1:2], nil, ds[1:2])
	s.confirm(slices.Concat(ds[:1], ds[2:]), nil, nil)
	same(r, "acked", s.stats().Acked, int64(2))
	s.confirm(ds[1:2], nil, nil)
	s.confirm(s.leasesRun(1, "a3"), nil, nil)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 4})
	t.holds(0)
}

func confirmRun(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "a3")
	s.confirm(s.leasesRun(3, "a1", "a2", "a3"), nil, nil)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3})
}

func confirmMany(r *rig) {
	t, s := r.one()
	t.several(450)
	ds := s.all()
	late := slices.Concat(ds[10:11], ds[210:211], ds[449:])
	s.nack(late...)
	s.confirm(ds, late, nil)
	s.confirm(ds, late, nil)
	same(r, "acked", s.stats().Acked, int64(447))
}

func missedTold(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	ds := s.lease(3)
	s.nack(ds[1])
	missed, err := s.Store.Extend(r.Context(), s.ref, receipts(ds), time.Hour)
	r.ok(err)
	same(r, "not extended", fmt.Sprint(missed), fmt.Sprint(receipts(ds[1:2])))
	n := subscriptions.NackRequest{Ref: s.ref, Rules: s.rules}
	for _, receipt := range receipts(ds) {
		n.Nacks = append(n.Nacks, subscriptions.Nack{Receipt: receipt})
	}
	missed, err = s.Store.Nack(r.Context(), n)
	r.ok(err)
	same(r, "not nacked", fmt.Sprint(missed), fmt.Sprint(receipts(ds[1:2])))
	missed, err = s.Store.Nack(r.Context(), n)
	r.ok(err)
	same(r, "not nacked again", fmt.Sprint(missed), fmt.Sprint(receipts(ds)))
}

func confirmTrims(r *rig) {
	t, s := r.one()
	t.several(300)
	ds := s.all()
	s.confirm(ds[1:], nil, nil)
	t.holds(300)
	s.confirm(ds[:1], nil, nil)
	t.holds(0)
}

func confirmWake(r *rig) {
	t, s := r.one()
	s.rules.Outstanding = 1
	t.publish("a", "b")
	ds := s.lease(2)
	w := r.watch(t.ref.UID)
	s.confirm(ds, nil, nil)
	w.brought(s.due(0))
	s.leases(1, "b")
}
