package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var breaking = []check{
	{"kept, with time passing", breakerKept},
	{"since when it is open, and the next probe, stay as they were written", breakerTimes},
	{"what was closed stays so", breakerClosed},
	{"closing wakes", breakerWakes},
	{"it goes with the subscription", breakerDropped},
}

func (s *sub) breaker() subscriptions.Breaker {
	s.Helper()
	b := s.breakerWithTimes()
	b.OpenTime, b.ProbeTime = time.Time{}, time.Time{}
	return b
}

func (s *sub) breakerWithTimes() subscriptions.Breaker {
	s.Helper()
	b, err := s.Store.Breaker(s.Context(), s.ref)
	s.ok(err)
	return b
}

func (s *sub) keep(b subscriptions.Breaker) (kept bool) {
	s.Helper()
	kept, err := s.Store.KeepBreaker(s.Context(), s.ref, b)
	s.ok(err)
	return kept
}

func (s *sub) closeBreaker() (was bool) {
	s.Helper()
	was, err := s.Store.CloseBreaker(s.Context(), s.ref)
	s.ok(err)
	return was
}

func breakerKept(r *rig) {
	t, s := r.one()
	same(r, "breaker", s.breaker(), subscriptions.Breaker{})
	b := subscriptions.Breaker{Open: true, Endpoint: "an endpoint", Since: time.Second, Probe: 5 * time.Second}
	same(r, "kept", s.keep(b), true)
	same(r, "breaker", s.breaker(), b)
	r.Clock.Advance(3 * time.Second)
	b.Since, b.Probe = 4*time.Second, 2*time.Second
	same(r, "breaker", s.breaker(), b)
	r.Clock.Advance(time.Minute)
	b.Since, b.Probe = 64*time.Second, 0
	same(r, "breaker", s.breaker(), b)
	b.Probe, b.Probes = 10*time.Second, 1
	same(r, "kept", s.keep(b), true)
	same(r, "breaker", s.breaker(), b)
	same(r, "another's", t.attach().breaker(), subscriptions.Breaker{})
	s.nack(s.lease(1)...)
	t.publish("a")
	s.leases(1, "a") // deliveries go on as the owner decides
}

func breakerTimes(r *rig) {
	_, s := r.one()
	began := r.Clock.Now().UTC()
	b := subscriptions.Breaker{Open: true, Endpoint: "an endpoint", Since: time.Second, Probe: 5 * time.Second}
	s.keep(b)
	want := func(opened, probe time.Duration) {
		r.Helper()
		got := s.breakerWithTimes()
		same(r, "open since", got.OpenTime, began.Add(opened))
		same(r, "next probe", got.ProbeTime, began.Add(probe))
	}
	want(-time.Second, 5*time.Second)
	r.Clock.Advance(3 * time.Second)
	want(-time.Second, 5*time.Second)
	b.Since, b.Probes = 4007*time.Millisecond, 1 // by another clock
	s.keep(b)
	want(-time.Second, 8*time.Second)
	b.Endpoint, b.Since = "another endpoint", time.Second
	s.keep(b)
	want(2*time.Second, 8*time.Second)
}

func breakerClosed(r *rig) {
	_, s := r.one()
	same(r, "was open", s.closeBreaker(), false)
	b := subscriptions.Breaker{Open: true, Probes: 3}
	same(r, "kept", s.keep(b), false)
	b.Probes = 0
	same(r, "kept", s.keep(b), true)
	same(r, "was open", s.closeBreaker(), true)
	same(r, "breaker", s.breaker(), subscriptions.Breaker{})
	b.Probes = 1
	same(r, "kept", s.keep(b), false)
	same(r, "breaker", s.breaker(), subscriptions.Breaker{})
}

func breakerDropped(r *rig) {
	_, s := r.one()
	s.keep(subscriptions.Breaker{Open: true})
	r.ok(s.Store.Drop(r.Context(), s.ref.Topic, s.ref.Subscription))
	r.ok(s.Store.Attach(r.Context(), s.ref, s.name))
	same(r, "breaker", s.breaker(), subscriptions.Breaker{})
}

func breakerWakes(r *rig) {
	t, s := r.one()
	w := r.watch(t.ref.UID)
	s.keep(subscriptions.Breaker{Open: true})
	w.brought()
	s.closeBreaker()
	w.brought(s.revised())
	s.closeBreaker()
	w.brought() // nothing was closed
}
