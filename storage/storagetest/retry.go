package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var retrying = []check{
	{"an expired lease waits from its deadline on", expiryWaits},
	{"an expired lease found late", expiryLate},
	{"expiry without a retry policy", expiryAtOnce},
	{"delays grow with the attempts", delaysGrow},
	{"delays grow with expired leases", delaysGrowExpired},
	{"another policy counts from the next retry", delaysPatched},
	{"AtLeast", nackAtLeast},
	{"nacks of a step are spread", nacksSpread},
	{"expired leases of a step are spread", expirySpread},
	{"attempts count nacks and expired leases", attemptsCount},
	{"released deliveries are no attempts", releasedNoAttempts},
	{"never two leases of one message", neverTwice},
}

// fixed are spans without a choice.
func fixed(ds ...time.Duration) []subscriptions.Span {
	var spans []subscriptions.Span
	for _, d := range ds {
		spans = append(spans, subscriptions.Span{Low: d, High: d})
	}
	return spans
}

// comesAfter checks that a message is there after d, and not a moment before.
func (s *sub) comesAfter(d time.Duration) subscriptions.Delivery {
	s.Helper()
	same(s.rig, "next due", s.leaseWith(s.request(10)).NextDue, d)
	s.Clock.Advance(d - time.Millisecond)
	s.leases(10)
	s.Clock.Advance(time.Millisecond)
	return s.leaseOne()
}

func expiryWaits(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(2 * time.Second)
	t.publish("a")
	s.leaseOne()
	r.Clock.Advance(deadline + 500*time.Millisecond)
	s.leases(10)
	same(r, "expired", s.stats().Expired, 1)
	s.comesAfter(1500 * time.Millisecond)
	same(r, "expired", s.stats().Expired, 1)
}

func expiryLate(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(2 * time.Second)
	t.publish("a")
	s.leaseOne()
	r.Clock.Advance(deadline + 2*time.Second)
	same(r, "attempt", s.leaseOne().Attempt, 2)
}

func expiryAtOnce(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.leaseOne()
	s.comesAfter(deadline)
	s.comesAfter(deadline)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1, OldestAge: 2 * deadline, Expired: 2})
}

func delaysGrow(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(2*time.Second, 4*time.Second, 8*time.Second)
	t.publish("a")
	d := s.leaseOne()
	for _, wait := range []time.Duration{2, 4, 8, 8, 8} {
		s.nack(d)
		d = s.comesAfter(wait * time.Second)
	}
	same(r, "attempt", d.Attempt, 6)
}

func delaysGrowExpired(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(2*time.Second, 4*time.Second, 8*time.Second)
	t.publish("a")
	s.leaseOne()
	for _, wait := range []time.Duration{2, 4, 8, 8, 8} {
		r.Clock.Advance(deadline)
		s.comesAfter(wait * time.Second)
	}
	same(r, "expired", s.stats().Expired, 5)
}

func delaysPatched(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(time.Minute)
	t.publish("a")
	s.nack(s.leaseOne())
	s.rules.Retry = fixed(time.Second)
	d := s.comesAfter(time.Minute) // what waits goes on waiting
	s.nack(d)
	s.comesAfter(time.Second)
	r.Clock.Advance(deadline)
	s.comesAfter(time.Second)
}

func nackAtLeast(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(10 * time.Second)
	t.publish("a")
	s.nackAtLeast(time.Minute, s.leaseOne())
	d := s.comesAfter(time.Minute)
	s.nackAtLeast(time.Second, d)
	d = s.comesAfter(10 * time.Second)
	s.rules.Retry = nil
	s.nackAtLeast(time.Second, d)
	s.comesAfter(time.Second)
}

// spread is what the cases of jitter wait for: the i-th message comes when the i-th point of the span is reached.
func (s *sub) spread(span subscriptions.Span, jitter float64, want ...string) {
	s.Helper()
	left := map[string]time.Duration{}
	for i, text := range want {
		left[text] = span.At(subscriptions.Jitter(jitter, i))
	}
	for waited := time.Duration(0); len(left) > 0; {
		next := s.leaseWith(s.request(1))
		for _, d := range next.Deliveries {
			text := string(d.Message.Data)
			same(s.rig, "delay of "+text, waited, left[text])
			delete(left, text)
			s.extend(day, d)
		}
		if len(next.Deliveries) == 0 {
			waited += next.NextDue
			s.Clock.Advance(next.NextDue)
		}
	}
}

func nacksSpread(r *rig) {
	t, s := r.one()
	span := subscriptions.Span{Low: 10 * time.Second, High: 15 * time.Second}
	s.rules.Retry = []subscriptions.Span{span}
	t.publish("a", "b", "c", "d")
	ds := s.lease(10)
	late := ds[3]
	s.nackAtLeast(day, late) // has no effect below, and counts for nothing
	n := subscriptions.NackRequest{Ref: s.ref, Rules: s.rules, Jitter: 0.3}
	for _, d := range []subscriptions.Delivery{ds[0], late, ds[2], ds[1]} {
		n.Nacks = append(n.Nacks, subscriptions.Nack{Receipt: d.Receipt()})
	}
	_, err := r.Store.Nack(r.Context(), n)
	r.ok(err)
	s.spread(span, 0.3, "a", "c", "b")
}

func expirySpread(r *rig) {
	t, s := r.one()
	span := subscriptions.Span{Low: 10 * time.Second, High: 15 * time.Second}
	s.rules.Retry = []subscriptions.Span{span}
	t.publish("a", "b", "c", "d")
	ds := s.lease(10)
	s.ack(ds[1])
	r.Clock.Advance(deadline)
	req := s.request(10)
	req.Jitter = 0.9
	same(r, "leased", len(s.leaseWith(req).Deliveries), 0)
	s.spread(span, 0.9, "a", "c", "d")
}

func attemptsCount(r *rig) {
	t, s := r.one()
	t.publish("a")
	for i := range 3 {
		d := s.leaseOne()
		same(r, "attempt", d.Attempt, 2*i+1)
		s.nack(d)
		d = s.leaseOne()
		same(r, "attempt", d.Attempt, 2*i+2)
		r.Clock.Advance(deadline)
	}
}

func releasedNoAttempts(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(time.Second, time.Minute)
	t.publish("a")
	s.release(s.leaseOne())
	s.nack(s.leaseOne()) // the second delivery is the first attempt
	d := s.comesAfter(time.Second)
	same(r, "number", d.Number, 3)
	same(r, "attempt", d.Attempt, 2)
	s.release(d)
	s.nack(s.leaseOne())
	d = s.comesAfter(time.Minute)
	same(r, "number", d.Number, 5)
	same(r, "attempt", d.Attempt, 3)
}

// neverTwice has workers that take six messages and need 0.6 of the deadline for them, while others take the next six.
func neverTwice(r *rig) {
	t, s := r.one()
	for range 100 {
		t.publish("x")
	}
	var held []subscriptions.Delivery
	for acked := 0; acked < 100; acked += len(held) {
		s.ack(held...)
		held = s.lease(6)
		r.Clock.Advance(deadline * 3 / 10)
		others := s.lease(6)
		r.Clock.Advance(deadline * 3 / 10)
		for _, d := range append(held, others...) {
			same(r, "number", d.Number, 1)
		}
		s.ack(others...)
		acked += len(others)
	}
	s.ack(held...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 100})
}
