package storagetest

import (
	"fmt"
	"strings"
	"time"

	"postrider/subscriptions"
)

var remembering = []check{
	{"each attempt that failed, the newest first", attemptsKept},
	{"no more than there is room for", attemptsBounded},
	{"the newest, however long", attemptsLong},
	{"a release for a reason spends none", attemptsReleased},
	{"the attempts of a dead message", attemptsDead},
	{"they go with the message", attemptsGone},
}

// attempts reads what is kept of messages, a text each.
func (s *sub) attempts(ds ...subscriptions.Delivery) (texts []string) {
	s.Helper()
	all, err := s.Store.Attempts(s.Context(), s.ref, receipts(ds))
	s.ok(err)
	same(s.rig, "messages", len(all), len(ds))
	for _, attempts := range all {
		texts = append(texts, s.attemptsText(attempts))
	}
	return texts
}

// attemptsText writes attempts, with how long ago each was.
func (r *rig) attemptsText(attempts []subscriptions.Attempt) string {
	var parts []string
	for _, a := range attempts {
		parts = append(parts, fmt.Sprintf("%d %s %d %s", a.Number, r.Clock.Now().Sub(a.Time).Round(time.Millisecond), a.Status, a.Line()))
	}
	return strings.Join(parts, "; ")
}

// fail nacks for a reason.
func (s *sub) fail(why subscriptions.Failure, ds ...subscriptions.Delivery) {
	s.Helper()
	r := subscriptions.NackRequest{Ref: s.ref, Rules: s.rules}
	for _, receipt := range receipts(ds) {
		r.Nacks = append(r.Nacks, subscriptions.Nack{Receipt: receipt, Failure: why})
	}
	_, err := s.Store.Nack(s.Context(), r)
	s.ok(err)
}

func attemptsKept(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	ds := s.leases(2, "a", "b")
	same(r, "at first", s.attempts(ds...), []string{"", ""})
	s.fail(subscriptions.Failure{Reason: "no", Status: 503, Answer: "later: 1\\2", Took: 1234567 * time.Microsecond}, ds[0])
	r.Clock.Advance(2 * time.Second)
	d := s.leases(2, "a")[0]
	r.Clock.Advance(deadline + time.Second)
	s.leases(2, "a", "b")
	same(r, "attempts", s.attempts(d, ds[1]), []string{
		"2 1s 0 " + subscriptions.ReasonExpired + "; 1 13s 503 no after 1.235s: later: 1\\2",
		"1 3s 0 " + subscriptions.ReasonExpired,
	})
}

func attemptsBounded(r *rig) {
	t, s := r.one()
	t.publish("a")
	var want []string
	for i := range subscriptions.MaxAttemptsKept + 3 {
		s.fail(subscriptions.Failure{Reason: fmt.Sprint("no ", i)}, s.leaseOne())
		want = append([]string{fmt.Sprintf("%d 0s 0 no %d", i+1, i)}, want...)
	}
	d := s.leaseOne()
	same(r, "attempts", s.attempts(d), []string{strings.Join(want[:subscriptions.MaxAttemptsKept], "; ")})
	s.fail(subscriptions.Failure{Reason: strings.Repeat("r", 180), Answer: strings.Repeat("a", 120)}, d)
	s.fail(subscriptions.Failure{Reason: strings.Repeat("r", 200), Answer: strings.Repeat("a", 95)}, s.leaseOne())
	texts := strings.Split(s.attempts(s.leaseOne())[0], "; ")
	same(r, "attempts", len(texts), 3) // 300 and 295 bytes leave room for one of 4
	same(r, "the oldest", texts[2], want[0])
}

func attemptsLong(r *rig) {
	t, s := r.one()
	t.publish("a")
	long := subscriptions.Failure{Reason: strings.Repeat("r", subscriptions.MaxReason), Answer: strings.Repeat("é", subscriptions.MaxAnswer/2)}
	for range 3 {
		s.fail(long, s.leaseOne())
	}
	all, err := s.Store.Attempts(r.Context(), s.ref, receipts(s.lease(1)))
	r.ok(err)
	same(r, "attempts", len(all[0]), 1)
	same(r, "the newest", all[0][0].Failure, long)
}

func attemptsReleased(r *rig) {
	t, s := r.ordered()
	t.send("a1", "-1")
	ds := s.leasesRun(1, "a1", "-1")
	why := subscriptions.Failure{Reason: "a probe", Status: 500}
	r.ok(s.Store.Release(r.Context(), s.ref, releases(receipts(ds), why)))
	same(r, "attempts", s.attempts(ds...), []string{"0 0s 500 a probe", "0 0s 500 a probe"})
	s.blocks() // nothing that is spent
	ds = s.leasesRun(1, "a1", "-1")
	same(r, "attempt", ds[0].Attempt, 1)
	s.release(ds...)
	same(r, "attempts", s.attempts(ds...), []string{"0 0s 500 a probe", "0 0s 500 a probe"})
}

func attemptsDead(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 2
	t.publish("a", "b")
	ds := s.leases(2, "a", "b")
	s.fail(subscriptions.Failure{Reason: "first"}, ds...)
	ds = s.leases(2, "a", "b")
	s.fail(subscriptions.Failure{Reason: "second", Status: 500}, ds[0])
	r.Clock.Advance(deadline)
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a", "b"})
	same(r, "attempts", r.attemptsText(dead[0].Failed), "2 10s 500 second; 1 10s 0 first")
	same(r, "attempts", r.attemptsText(dead[1].Failed), "2 0s 0 "+subscriptions.ReasonExpired+"; 1 10s 0 first")
}

func attemptsGone(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	ds := s.leases(2, "a", "b")
	s.fail(subscriptions.Failure{Reason: "no"}, ds...)
	s.ack(ds[0])
	same(r, "attempts", s.attempts(ds...), []string{"", "1 0s 0 no"})
	other := ds[1]
	other.Epoch++
	same(r, "of another epoch", s.attempts(other), []string{""})
}
