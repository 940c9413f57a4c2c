package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

var redriving = []check{
	{"back at once, with all attempts", redriveBack},
	{"to one subscription only", redriveOne},
	{"a repeated step adds no second copy", redriveTwice},
	{"again, once it died again", redriveAgain},
	{"what is unacked is left as it is", redriveUnacked},
	{"what is being moved waits", redriveMoving},
	{"who was slow to move it takes nothing", redriveSlow},
	{"the bound on outstanding messages", redriveBound},
	{"the retention counts from then", redriveRetention},
	{"before later ones of its key", redriveOrder},
	{"between others of its key", redriveBetween},
	{"after earlier ones that a seek brought back", redriveSought},
	{"no lease is taken away", redriveKeepsLeases},
	{"the log need not have it", redriveTrimmed},
	{"a seek to a time before it", redriveSeekBack},
	{"a seek to a time after it", redriveSeekForward},
	{"a snapshot holds it", redriveSnapshot},
}

// bury publishes messages and moves them away, as dead letters.
func (t *topic) bury(s *sub, data ...string) []subscriptions.Message {
	t.Helper()
	var dead []subscriptions.Message
	t.send(data...)
	max := s.rules.MaxAttempts
	ds := s.kill(data...)
	s.rules.MaxAttempts = max
	s.settle(ds...)
	for _, d := range ds {
		dead = append(dead, d.Message)
	}
	return dead
}

// lettersOf names dead letters that nobody else has.
func lettersOf(msgs ...subscriptions.Message) (all []subscriptions.RedriveLetter) {
	for i, m := range msgs {
		all = append(all, subscriptions.RedriveLetter{Message: m, Topic: unique("dead"), ID: subscriptions.NewMessageID(1, int64(i+1), 1)})
	}
	return all
}

func (s *sub) redrive(all ...subscriptions.RedriveLetter) []subscriptions.RedriveFate {
	s.Helper()
	fates, err := s.Store.Redrive(s.Context(), subscriptions.RedriveRequest{Ref: s.ref, Rules: s.rules, Letters: all})
	s.ok(err)
	return fates
}

// redriven checks that letters are there.
func (s *sub) redriven(all ...subscriptions.RedriveLetter) {
	s.Helper()
	for _, fate := range s.redrive(all...) {
		same(s.rig, "fate", fate, subscriptions.RedriveThere)
	}
}

func redriveBack(r *rig) {
	t, s := r.one()
	dead := t.bury(s, "a", "b")
	r.Clock.Advance(time.Minute)
	before := s.stats()
	same(r, "left", before.Outstanding+before.Undelivered, 0)
	s.redriven(lettersOf(dead...)...)
	stats := s.stats()
	same(r, "outstanding", stats.Outstanding, 2)
	same(r, "bytes", stats.Bytes, 4)
	same(r, "age", stats.OldestAge, 0)
	s.rules.MaxAttempts = 2
	for attempt := 1; attempt <= 2; attempt++ {
		ds := s.leases(10, "a", "b")
		same(r, "id", ds[0].Message.ID, dead[0].ID)
		same(r, "attempt", ds[0].Attempt, attempt)
		s.nack(ds...)
	}
	same(r, "dead", s.stats().Dead, 2)
	again := s.sweep(10).Dead
	same(r, "dead", data(again), []string{"a", "b"})
	s.settle(again...)
	stats = s.stats()
	same(r, "left", stats.Outstanding+stats.Bytes, 0)
}

func redriveOne(r *rig) {
	t, s := r.one()
	other := t.attach()
	dead := t.bury(s, "a")
	other.ack(other.leaseOne())
	s.redriven(lettersOf(dead...)...)
	other.leases(10)
	s.leases(10, "a")
}

func redriveTwice(r *rig) {
	t, s := r.one()
	l := lettersOf(t.bury(s, "a")...)
	s.redriven(l...)
	s.redriven(l...)
	s.ack(s.leaseOne())
	s.redriven(l...) // it was acked since, which who repeats this does not know
	s.leases(10)
	r.ok(s.Store.ForgetRedriven(r.Context(), t.ref.UID, l, time.Minute))
	r.Clock.Advance(time.Minute - 1)
	s.redriven(l...)
	s.leases(10)
	r.Clock.Advance(1)
	r.ok(s.Store.ForgetRedriven(r.Context(), t.ref.UID, l, time.Minute)) // what is forgotten stays so
	t.trim()
	s.redriven(l...)
	s.leases(10, "a")
}

func redriveAgain(r *rig) {
	t, s := r.one()
	dead := t.bury(s, "a")
	for i := range 3 {
		r.Clock.Advance(time.Second)
		s.redriven(lettersOf(dead...)...)
		ds := s.kill("a")
		same(r, "attempt", ds[0].Attempt, 1)
		s.settle(ds...)
		same(r, "dead-lettered", s.stats().DeadLettered, int64(i+2))
	}
}

func redriveUnacked(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	d := s.lease(1)[0]
	b := subscriptions.Message{ID: s.peekBy(10)[1].Message.ID, Data: []byte("b")}
	s.redriven(lettersOf(d.Message, b)...)
	stats := s.stats()
	same(r, "stats", fmt.Sprint(stats.Outstanding, stats.Undelivered, stats.Bytes), "1 1 2")
	s.ack(d)
	s.leases(10, "b")
}

func redriveMoving(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.kill("a")
	d := s.sweep(10).Dead[0]
	l := lettersOf(d.Message)
	same(r, "fate", s.redrive(l...)[0], subscriptions.RedriveBusy)
	s.settle(d)
	s.redriven(l...)
	s.rules.MaxAttempts = 0
	s.leases(10, "a")
}

func redriveSlow(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.kill("a")
	d := s.sweep(10).Dead[0]
	s.settle(d)
	s.redriven(lettersOf(d.Message)...)
	s.settle(d) // by a server that was slow
	same(r, "outstanding", s.stats().Outstanding, 1)
	s.rules.MaxAttempts = 0
	s.leases(10, "a")
}

func redriveBound(r *rig) {
	t, s := r.one()
	dead := t.bury(s, "a", "b", "c")
	s.rules.Outstanding = 2
	l := lettersOf(dead...)
	same(r, "fates", s.redrive(l...), []subscriptions.RedriveFate{subscriptions.RedriveThere, subscriptions.RedriveThere, subscriptions.RedriveFull})
	s.ack(s.lease(1)...)
	s.redriven(l...)
	s.leases(10, "b", "c")
}

func redriveRetention(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	dead := t.bury(s, "a")
	r.Clock.Advance(2 * time.Hour)
	t.publish("old")
	s.lease(1)
	r.Clock.Advance(30 * time.Minute)
	s.redriven(lettersOf(dead...)...)
	r.Clock.Advance(31 * time.Minute)
	same(r, "more", s.sweep(10).More, false)
	same(r, "dropped", s.stats().Dropped, 1) // old, though a was published before
	same(r, "age", s.stats().OldestAge, 31*time.Minute)
	s.shows("a waiting 0")
	r.Clock.Advance(30 * time.Minute)
	s.shows()
	s.sweep(10)
	stats := s.stats()
	same(r, "stats", fmt.Sprint(stats.Dropped, stats.Outstanding, stats.Bytes), "2 0 0")
}

func redriveOrder(r *rig) {
	t, s := r.ordered()
	dead := t.bury(s, "a1")
	t.send("a2", "a3", "b1")
	run := s.leasesRun(2, "a2", "a3", "b1")
	s.redriven(lettersOf(dead...)...)
	s.ack(run[0]) // too late: it comes again
	again := s.leasesRun(100, "a1", "a2", "a3")
	same(r, "attempts", fmt.Sprint(again[0].Attempt, again[1].Attempt, again[2].Attempt), "1 1 1")
	s.ack(again...)
	s.ack(run[2])
	same(r, "left", s.stats().Outstanding, 0)
}

func redriveBetween(r *rig) {
	t, s := r.ordered()
	dead := t.bury(s, "a1", "b1")
	t.send("a2")
	s.rules.Retry = fixed(time.Minute)
	s.nack(s.leasesRun(1, "a2")...) // it waits, and is no longer the first
	s.redriven(lettersOf(dead...)...)
	s.leasesRun(100, "a1", "b1", "a2")
}

func redriveSought(r *rig) {
	t, s := r.ordered()
	before := r.Clock.Now()
	r.Clock.Advance(time.Second)
	t.send("a1", "a2")
	s.leasesRun(2, "a1", "a2")
	dead := t.bury(s, "b3")
	s.seek(before)
	t.send("a4")
	s.redriven(lettersOf(dead...)...)
	s.shows("a1 new 0", "a2 new 0", "b3 new 0", "a4 new 0")
	ds := s.leasesRun(1, "a1", "b3")
	same(r, "attempt", ds[1].Attempt, 1)
	same(r, "a number as no other", ds[1].Number > 1, true)
	s.ack(ds...)
	s.ack(s.leasesRun(100, "a2", "a4")...)
	same(r, "bytes", s.stats().Bytes, 0)
}

func redriveKeepsLeases(r *rig) {
	t, s := r.ordered()
	dead := t.bury(s, "a1")
	t.send("a2")
	d := s.leasesRun(1, "a2")
	request := subscriptions.RedriveRequest{Ref: s.ref, Rules: s.rules, KeepLeases: true, Letters: lettersOf(dead...)}
	fates, err := s.Store.Redrive(r.Context(), request)
	r.ok(err)
	same(r, "fate", fates[0], subscriptions.RedriveBusy)
	s.ack(d...)
	fates, err = s.Store.Redrive(r.Context(), request)
	r.ok(err)
	same(r, "fate", fates[0], subscriptions.RedriveThere)
	s.leasesRun(1, "a1")
}

func redriveTrimmed(r *rig) {
	t, s := r.one()
	dead := t.bury(s, "a")
	t.trim()
	same(r, "length", t.length(), 0)
	s.redriven(lettersOf(dead...)...)
	s.release(s.leaseOne())
	d := s.leaseOne()
	same(r, "data", string(d.Message.Data), "a")
	same(r, "publish time", d.Message.PublishTime(), dead[0].PublishTime())
	s.ack(d)
	t.publish("b")
	s.ack(s.leaseOne())
	t.trim()
	same(r, "length", t.length(), 0)
}

func redriveSeekBack(r *rig) {
	t, s := r.one()
	before := r.Clock.Now()
	r.Clock.Advance(time.Second)
	dead := t.bury(s, "a")
	t.trim()
	r.Clock.Advance(time.Second)
	t.publish("b")
	s.redriven(lettersOf(dead...)...)
	s.lease(10)
	s.seek(before)
	same(r, "stats", fmt.Sprint(s.stats().Undelivered, s.stats().Bytes), "2 3")
	ds := s.leases(10, "a", "b")
	same(r, "attempt", ds[0].Attempt, 1)
	s.ack(ds...)
	same(r, "bytes", s.stats().Bytes, 0)
}

func redriveSeekForward(r *rig) {
	t, s := r.one()
	dead := t.bury(s, "a")
	r.Clock.Advance(time.Second)
	t.publish("b")
	s.redriven(lettersOf(dead...)...)
	s.lease(10)
	s.seek(r.Clock.Now())
	s.shows("b new 0")
	s.ack(s.leases(10, "b")...)
	same(r, "bytes", s.stats().Bytes, 0)
	s.redriven(lettersOf(dead...)...)
	s.leases(10, "a")
}

func redriveSnapshot(r *rig) {
	t, s := r.one()
	dead := t.bury(s, "a")
	s.redriven(lettersOf(dead...)...)
	snap := subscriptions.SnapshotRef{Topic: t.ref.UID, Snapshot: unique("n"), Revision: 1}
	_, err := s.Store.TakeSnapshot(r.Context(), s.ref, snap, subscriptions.SnapshotName{Project: "p", ID: snap.Snapshot})
	r.ok(err)
	t.publish("b")
	s.ack(s.leases(10, "a", "b")...)
	_, err = s.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Snapshot: snap.Snapshot})
	r.ok(err)
	s.ack(s.leases(10, "a", "b")...)
	same(r, "bytes", s.stats().Bytes, 0)
	r.ok(s.Store.DropSnapshot(r.Context(), t.ref.UID, snap.Snapshot))
	t.trim()
	same(r, "length", t.length(), 0)
}
