package storagetest

import (
	"slices"
	"time"

	"postrider/subscriptions"
)

var remaining = []check{
	{"of leases", remainingOfLeases},
	{"of what is not leased", remainingOfOthers},
	{"of more than a step takes", remainingOfMany},
}

func (s *sub) remaining(ds ...subscriptions.Delivery) []time.Duration {
	s.Helper()
	left, err := s.Store.Remaining(s.Context(), s.ref, receipts(ds))
	s.ok(err)
	return left
}

func remainingOfLeases(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	ds := s.leases(10, "a", "b")
	s.extend(time.Minute, ds[0])
	r.Clock.Advance(time.Second)
	same(r, "remaining", s.remaining(ds...), []time.Duration{time.Minute - time.Second, deadline - time.Second})
	r.Clock.Advance(deadline - time.Second)
	same(r, "remaining", s.remaining(ds[1], ds[0]), []time.Duration{0, time.Minute - deadline})
}

func remainingOfOthers(r *rig) {
	t, s := r.one()
	ids := t.publish("a", "b", "c", "d", "e")
	ds := s.leases(4, "a", "b", "c", "d")
	s.ack(ds[0])
	s.nackAtLeast(time.Minute, ds[1])
	s.release(ds[2])
	again := s.leases(1, "c")[0]
	foreign, new := ds[3], ds[3]
	foreign.Epoch++
	new.Message.ID = ids[4]
	left := s.remaining(ds[0], ds[1], ds[2], foreign, new)
	same(r, "remaining", left, make([]time.Duration, 5))
	same(r, "remaining", s.remaining(again, ds[3]), []time.Duration{deadline, deadline})
	s.drop()
	_, err := s.Store.Remaining(s.Context(), s.ref, receipts(ds))
	r.is(err, subscriptions.ErrGone)
}

func remainingOfMany(r *rig) {
	t, s := r.one()
	var ds []subscriptions.Delivery
	for range 5 {
		t.publish(make([]string, 100)...)
		ds = append(ds, s.lease(100)...)
	}
	s.ack(ds[250])
	for i, left := range s.remaining(ds...) {
		if want := deadline; (left != want) != (i == 250) {
			r.Fatalf("of message %d %v remain", i, left)
		}
	}
	same(r, "remaining", len(ds), 500)
	same(r, "remaining of nothing", len(s.remaining()), 0)
}

func (m *machine) remaining() {
	s := m.anySub()
	var rs []subscriptions.Receipt
	for _, r := range m.receipts(s) {
		if !slices.ContainsFunc(rs, func(o subscriptions.Receipt) bool { return o.ID == r.ID }) {
			rs = append(rs, r)
		}
	}
	must(m, "remaining", func(store subscriptions.Store) ([]time.Duration, error) { return store.Remaining(ctx, s.ref, rs) })
}
