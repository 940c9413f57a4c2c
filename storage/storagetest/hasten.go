package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var hastening = []check{
	{"what was told to wait waits as the policy says", hastenTold},
	{"what waits for less is left", hastenLess},
	{"all of many", hastenMany},
	{"it wakes who waits", hastenWakes},
}

// hasten hastens all, and tells how many steps that took.
func (s *sub) hasten() (steps int) {
	s.Helper()
	for next := int64(0); next >= 0; steps++ {
		var err error
		next, err = s.Store.Hasten(s.Context(), subscriptions.HastenRequest{Ref: s.ref, Rules: s.rules, After: next})
		s.ok(err)
	}
	return steps
}

func hastenTold(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(5*time.Second, 20*time.Second)
	t.publish("a", "b")
	ds := s.leases(2, "a", "b")
	s.nack(ds[0])
	r.Clock.Advance(5 * time.Second)
	s.nackAtLeast(10*time.Minute, append(s.leases(1, "a"), ds[1])...)
	r.Clock.Advance(time.Second)
	s.hasten()
	r.Clock.Advance(5*time.Second - time.Millisecond)
	s.leases(2)
	r.Clock.Advance(time.Millisecond)
	s.leases(2, "b")
	r.Clock.Advance(15*time.Second - time.Millisecond)
	s.leases(2)
	r.Clock.Advance(time.Millisecond)
	s.leases(2, "a")
}

func hastenLess(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(10 * time.Second)
	t.publish("a", "b")
	ds := s.leases(2, "a", "b")
	s.nack(ds[0])
	r.Clock.Advance(4 * time.Second)
	s.hasten()
	r.Clock.Advance(6*time.Second - time.Millisecond)
	s.leases(2)
	r.Clock.Advance(time.Millisecond)
	s.leases(2, "a")
}

func hastenMany(r *rig) {
	t, s := r.one()
	t.several(450)
	s.nackAtLeast(10*time.Minute, s.all()...)
	s.leases(1)
	same(r, "steps", s.hasten(), 3)
	same(r, "leased", len(s.all()), 450)
}

func hastenWakes(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(3 * time.Second)
	t.publish("a")
	s.nackAtLeast(10*time.Minute, s.leaseOne())
	w := r.watch(t.ref.UID)
	s.hasten()
	w.brought(subscriptions.Wake{Kind: subscriptions.Due, Subscription: s.ref.Subscription, In: 3 * time.Second})
	s.hasten()
	w.brought()
}
