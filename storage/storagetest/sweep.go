package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

var sweeping = []check{
	{"nothing to do", sweepNothing},
	{"dead messages are held", sweepHolds},
	{"Max", sweepMax},
	{"none taken", sweepNone},
	{"age", sweepAge},
	{"in order of the log", sweepOrder},
	{"expired leases wait", sweepExpires},
	{"the next lease to run out", sweepNextDue},
	{"what is due already is no work", sweepOverdue},
	{"retention ahead of the cursor", sweepRetention},
	{"retention of all that is outstanding", sweepRetentionOutstanding},
	{"unused", sweepUnused},
	{"every use", sweepUses},
	{"unused, of many", unusedOfMany},
	{"many expired leases", sweepMany},
}

func sweepNothing(r *rig) {
	t, s := r.one()
	same(r, "sweep", s.sweep(10), subscriptions.SweepResult{NextDue: -1, Review: -1})
	t.publish("a")
	same(r, "sweep", s.sweep(10), subscriptions.SweepResult{NextDue: -1, Review: -1})
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 1})
}

func sweepHolds(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.kill("a")
	r.Clock.Advance(time.Second)
	result := s.sweep(10)
	same(r, "dead", data(result.Dead), []string{"a"})
	same(r, "more", result.More, false)
	same(r, "next due", result.NextDue, hold)
	r.Clock.Advance(hold - time.Millisecond)
	result = s.sweep(10)
	same(r, "dead", len(result.Dead), 0)
	same(r, "next due", result.NextDue, time.Millisecond)
	same(r, "dead", s.stats().Dead, 1)
	r.Clock.Advance(time.Millisecond)
	again := s.sweep(10).Dead
	same(r, "dead", data(again), []string{"a"})
	same(r, "number", again[0].Number, 1)
}

func sweepMax(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	s.kill("a", "b", "c")
	result := s.sweep(2)
	same(r, "dead", data(result.Dead), []string{"a", "b"})
	same(r, "more", result.More, true)
	result = s.sweep(2)
	same(r, "dead", data(result.Dead), []string{"c"})
	same(r, "more", result.More, false)
}

// sweepNone leaves dead messages to a later sweep, and counts them as no work.
func sweepNone(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.kill("a", "b")
	result := s.sweep(0)
	same(r, "sweep", result, subscriptions.SweepResult{NextDue: -1, Review: -1})
	same(r, "dead", s.stats().Dead, 2)
	same(r, "dead", data(s.sweep(1).Dead), []string{"a"})
	same(r, "next due", s.sweep(0).NextDue, -1)
	s.rules.MaxAttempts = 0
	r.Clock.Advance(hold)
	s.sweep(0)
	s.leases(10, "a", "b") // they are not dead any more
}

func sweepAge(r *rig) {
	t, s := r.one()
	s.rules.Retention = 2 * time.Hour
	age := func(want time.Duration) {
		r.Helper()
		same(r, "oldest age", s.sweep(10).OldestAge, want)
	}
	t.publish("a")
	r.Clock.Advance(time.Hour)
	t.publish("b")
	age(time.Hour)
	ds := s.leases(10, "a", "b")
	age(time.Hour)
	s.ack(ds[0])
	age(0)
	r.Clock.Advance(2 * time.Hour)
	age(2 * time.Hour)
	r.Clock.Advance(time.Millisecond)
	age(0) // dropped by this very sweep
	same(r, "dropped", s.stats().Dropped, 1)
}

func sweepOrder(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 1
	t.publish("a", "b", "c")
	ds := s.lease(10)
	for _, i := range []int{2, 0, 1} {
		r.Clock.Advance(time.Second)
		s.nack(ds[i])
	}
	same(r, "dead", data(s.sweep(2).Dead), []string{"a", "c"}) // the longest dead
	same(r, "dead", data(s.sweep(2).Dead), []string{"b"})
}

func sweepExpires(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 2
	s.rules.Retry = fixed(2 * time.Second)
	t.publish("a")
	s.leaseOne()
	r.Clock.Advance(deadline + time.Second)
	result := s.sweep(10)
	same(r, "dead", len(result.Dead), 0)
	same(r, "more", result.More, false)
	same(r, "next due", result.NextDue, -1)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1, OldestAge: deadline + time.Second, Expired: 1})
	same(r, "attempt", s.comesAfter(time.Second).Attempt, 2)
}

func sweepNextDue(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.lease(1)
	r.Clock.Advance(time.Second)
	s.lease(1)
	same(r, "next due", s.sweep(10).NextDue, deadline-time.Second)
}

// sweepOverdue is about a message that nobody pulls: to sweep at once again, and again, would help nobody.
func sweepOverdue(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.nack(s.leaseOne())
	for range 2 {
		result := s.sweep(10)
		same(r, "more", result.More, false)
		same(r, "next due", result.NextDue, -1)
		r.Clock.Advance(time.Second)
	}
	s.leases(10, "a")
}

func sweepRetention(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	t.publish("a", "bb")
	r.Clock.Advance(time.Second)
	t.publish("ccc")
	r.Clock.Advance(time.Hour)
	s.sweep(10)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 3, OldestAge: time.Hour, Dropped: 2})
	t.trim()
	t.holds(1)
	r.Clock.Advance(time.Millisecond)
	s.sweep(10)
	same(r, "stats", s.stats(), subscriptions.Stats{Dropped: 3})
	t.holds(0)
}

func sweepRetentionOutstanding(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	s.rules.MaxAttempts = 1
	t.publish("leased", "dead", "held")
	ds := s.lease(10)
	s.nack(ds[2])
	same(r, "dead", data(s.sweep(10).Dead), []string{"held"})
	s.nack(ds[1])
	s.rules.MaxAttempts = 0
	t.publish("waiting")
	s.nackAtLeast(2*time.Hour, s.leases(10, "waiting")...)
	s.rules.MaxAttempts = 1
	s.extend(3*time.Hour, ds[0])
	r.Clock.Advance(time.Second)
	t.publish("young")
	s.extend(3*time.Hour, s.leases(10, "young")...)
	r.Clock.Advance(time.Hour)
	result := s.sweep(10)
	same(r, "dead", len(result.Dead), 0)
	same(r, "next due", result.NextDue, 2*time.Hour)
	same(r, "stats", s.stats(), subscriptions.Stats{
		Outstanding: 1, Bytes: 5, OldestAge: time.Hour, Nacked: 3, Dropped: 4,
	})
	s.ack(ds...)
	same(r, "acked", s.stats().Acked, 0)
}

func sweepUnused(r *rig) {
	t, s := r.one()
	unused := func(want time.Duration) {
		r.Helper()
		same(r, "unused", s.sweep(10).Unused, want)
		r.Clock.Advance(time.Second)
	}
	r.Clock.Advance(time.Hour)
	unused(time.Hour)
	r.ok(r.Store.Attach(r.Context(), s.ref, s.name))
	unused(0)
	r.ok(r.Store.Revise(r.Context(), s.ref))
	unused(0)
	unused(time.Second)
	t.publish("a", "b")
	ds := s.leases(1, "a")
	s.stats()
	unused(2 * time.Second)
	req := s.request(1)
	req.Use = true
	s.leaseWith(req)
	unused(0)
	s.ack(ds...)
	unused(0)
	unused(time.Second)
}

// sweepUses has all that counts as a use, and what does not since a server does it by itself.
func sweepUses(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c", "d", "e", "f")
	ds := s.leases(10, "a", "b", "c", "d", "e", "f")
	nack := subscriptions.NackRequest{Ref: s.ref, Rules: s.rules, Nacks: []subscriptions.Nack{{Receipt: ds[2].Receipt()}}, Use: true}
	n := s.snapshot()
	for _, use := range []struct {
		what   string
		counts bool
		do     func()
	}{
		{"an ack", true, func() { s.ack(ds[0]) }},
		{"an ack that comes late", true, func() { s.ack(ds[0]) }},
		{"a confirmed ack", true, func() { s.confirm(ds[1:2], nil, nil) }},
		{"an extension", true, func() { s.extend(time.Hour, ds[3:]...) }},
		{"an extension without effect", true, func() { s.extend(time.Hour, ds[0]) }},
		{"a nack", true, func() {
			_, err := r.Store.Nack(r.Context(), nack)
			r.ok(err)
		}},
		{"a nack of a push", false, func() { s.nack(ds[3]) }},
		{"a release", false, func() { s.release(ds[4]) }},
		{"a lease of a push", false, func() { s.lease(1) }},
		{"a publish", false, func() { t.publish("g") }},
		{"a look", false, func() { s.stats(); s.wouldSeek(r.Clock.Now()); s.wouldRestore(n) }},
		{"a seek to a snapshot", true, func() { s.restore(n) }},
		{"a snapshot", true, func() { s.snapshot() }},
		{"a seek", true, func() { s.seek(r.Clock.Now()) }},
	} {
		before := s.sweep(0).Unused
		r.Clock.Advance(time.Second)
		use.do()
		want := before + time.Second
		if use.counts {
			want = 0
		}
		same(r, use.what, s.sweep(0).Unused, want)
	}
}

func unusedOfMany(r *rig) {
	t, s := r.one()
	r.Clock.Advance(time.Hour)
	other, gone := t.attach(), t.attach()
	gone.drop()
	r.Clock.Advance(time.Second)
	_, elsewhere := r.one()
	elsewhere.ref.Revision = 0 // whatever revision it has by now
	unused, err := r.Store.Unused(r.Context(), []subscriptions.Ref{s.ref, other.ref, gone.ref, elsewhere.ref})
	r.ok(err)
	same(r, "unused", unused, []time.Duration{time.Hour + time.Second, time.Second, 0, 0})
	unused, err = r.Store.Unused(r.Context(), nil)
	r.ok(err)
	same(r, "unused", len(unused), 0)
}

// sweepMany has more expired leases than one step looks at.
func sweepMany(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 1
	s.rules.Retry = fixed(time.Second)
	var want []string
	for i := range 500 {
		want = append(want, fmt.Sprint(i))
	}
	t.publish(want...)
	for s.stats().Undelivered > 0 {
		s.lease(1000)
	}
	r.Clock.Advance(deadline)
	var got []string
	for more := true; more; {
		result := s.sweep(150)
		got = append(got, data(result.Dead)...)
		more = result.More
	}
	same(r, "dead", got, want)
	same(r, "stats", s.stats(), subscriptions.Stats{
		Outstanding: 500, Dead: 500, Bytes: 1390, OldestAge: deadline, Expired: 500,
	})
}
