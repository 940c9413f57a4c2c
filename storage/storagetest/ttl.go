package storagetest

import (
	"strconv"
	"time"

	"postrider/subscriptions"
)

var outliving = []check{
	{"a message comes until its time is over, and not after", comesInTime},
	{"one that was leased in time may be acked later", acksAfterItsTime},
	{"one that comes again after its time does not", doesNotComeAgain},
	{"with a delay it counts from when the message is due", livesFromDue},
	{"one that is due late is late, too", isLateWhenAppendedLate},
	{"many are passed over in bounded steps", passesManyLate},
	{"the log does not keep what is late", trimsLate},
	{"a sweep ends what nobody pulls", sweepsLate},
	{"a sweep tells when the next is late", sweepTellsWhenLate},
	{"a sweep ends what waits", sweepsLateWaiting},
	{"a sweep stops at what is not late", sweepStopsAtLiving},
	{"where the rules say so it is dead instead", deadLettersLate},
	{"a sweep finds such a one, too", sweepDeadLettersLate},
	{"one that waited is dead, with its attempts", deadLettersLateAgain},
	{"one that was leased in time and is nacked after it", deadLettersLateNacked},
	{"a late one is not revived, but dropped when the rules change", dropsDeadLate},
	{"a key goes on behind a late head", keyGoesOn},
	{"a key goes on when its late head was moved", keyGoesOnBehindDead},
	{"a late one in the middle of a key", keySkipsMiddle},
	{"a sweep keeps the order of a key", sweepKeepsOrder},
	{"what a key left in the log is late, too", overflowLate},
	{"the source has late ones, too", sourceLate},
	{"with a filter nobody moves what may not match", filterLate},
	{"the bound holds for dead ones", boundLate},
}

// lasting is a message that lives for some time.
func lasting(text string, ttl time.Duration) subscriptions.Message {
	return subscriptions.Message{Data: []byte(text), Timing: subscriptions.Timing{TTL: ttl}}
}

// keyedLasting is the same with an ordering key.
func keyedLasting(text string, ttl time.Duration) subscriptions.Message {
	m := lasting(text, ttl)
	m.OrderingKey = "k"
	return m
}

func comesInTime(r *rig) {
	t, s := r.one()
	t.publishAll(lasting("a", time.Minute), lasting("b", 2*time.Minute), lasting("c", 0))
	r.Clock.Advance(time.Minute - time.Millisecond)
	s.release(s.leases(10, "a", "b", "c")...)
	r.Clock.Advance(time.Millisecond)
	s.release(s.leases(10, "b", "c")...)
	r.Clock.Advance(time.Hour)
	s.leases(10, "c")
	same(r, "late", s.stats().Late, 2)
	same(r, "outstanding", s.stats().Outstanding, 1)
	same(r, "bytes", s.stats().Bytes, 1)
}

func acksAfterItsTime(r *rig) {
	t, s := r.one()
	t.publishAll(lasting("a", time.Second))
	d := s.leaseOne()
	r.Clock.Advance(5 * time.Second)
	s.extend(time.Minute, d)
	s.sweep(10)
	r.Clock.Advance(30 * time.Second)
	s.ack(d)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1})
}

func doesNotComeAgain(r *rig) {
	t, s := r.one()
	t.publishAll(lasting("nacked", time.Minute), lasting("expired", time.Minute))
	ds := s.lease(10)
	s.nackAtLeast(time.Minute, ds[0])
	r.Clock.Advance(time.Minute)
	s.leases(10)
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 1, Expired: 1, Late: 2})
}

func livesFromDue(r *rig) {
	t, s := r.one()
	m := lasting("a", time.Minute)
	m.Timing.Delay = time.Hour
	t.publishAll(m)
	r.Clock.Advance(time.Hour + time.Minute - time.Millisecond)
	s.release(s.leases(10, "a")...)
	r.Clock.Advance(time.Millisecond)
	s.leases(10)
}

func isLateWhenAppendedLate(r *rig) {
	t, s := r.one()
	m := lasting("a", time.Minute)
	m.Timing.Delay = time.Hour
	t.publishAll(m)
	r.Clock.Advance(2 * time.Hour) // nobody looked meanwhile
	s.leases(10)
	same(r, "late", s.stats().Late, 1)
}

func passesManyLate(r *rig) {
	t, s := r.one()
	msgs := make([]subscriptions.Message, 450)
	for i := range msgs {
		msgs[i] = lasting(strconv.Itoa(i), time.Minute)
	}
	t.publishAll(append(msgs, lasting("x", 0))...)
	r.Clock.Advance(time.Minute)
	first := s.leaseWith(s.request(10))
	same(r, "leased", len(first.Deliveries), 0)
	same(r, "more", first.More, true)
	same(r, "late", s.stats().Late, 200)
	s.leases(10)
	s.leases(10, "x")
	same(r, "late", s.stats().Late, 450)
}

func trimsLate(r *rig) {
	t, s := r.one()
	msgs := make([]subscriptions.Message, 150)
	for i := range msgs {
		msgs[i] = lasting("a", time.Minute)
	}
	t.publishAll(msgs...)
	r.Clock.Advance(time.Minute)
	s.leases(10)
	t.trim()
	same(r, "length", t.length(), 0)
}

func sweepsLate(r *rig) {
	t, s := r.one()
	t.publishAll(lasting("a", time.Minute), lasting("b", time.Minute))
	r.Clock.Advance(time.Minute)
	same(r, "dead", len(s.sweep(10).Dead), 0)
	same(r, "stats", s.stats(), subscriptions.Stats{Late: 2})
	same(r, "length", t.length(), 0)
}

func sweepTellsWhenLate(r *rig) {
	t, s := r.one()
	t.publishAll(lasting("a", time.Minute), lasting("b", time.Hour))
	same(r, "next", s.sweep(10).NextDue, time.Minute)
	r.Clock.Advance(time.Minute)
	result := s.sweep(10)
	same(r, "next", result.NextDue, 59*time.Minute)
	same(r, "more", result.More, false)
}

func sweepsLateWaiting(r *rig) {
	t, s := r.one()
	t.publishAll(lasting("a", time.Minute), lasting("b", 2*time.Minute))
	s.nackAtLeast(time.Hour, s.lease(10)...)
	same(r, "next", s.sweep(10).NextDue, time.Minute)
	r.Clock.Advance(time.Minute)
	s.sweep(10)
	same(r, "late", s.stats().Late, 1)
	same(r, "outstanding", s.stats().Outstanding, 1)
}

func sweepStopsAtLiving(r *rig) {
	t, s := r.one()
	t.publishAll(lasting("a", time.Minute), lasting("b", 0), lasting("c", time.Minute))
	r.Clock.Advance(time.Minute)
	s.sweep(10)
	same(r, "late", s.stats().Late, 1)
	s.leases(10, "b")
	same(r, "late", s.stats().Late, 2)
}

// lateDies is one whose late messages are dead.
func (r *rig) lateDies() (*topic, *sub) {
	r.Helper()
	t, s := r.one()
	s.rules.DeadLetterLate, s.rules.MaxAttempts = true, 5
	return t, s
}

func deadLettersLate(r *rig) {
	t, s := r.lateDies()
	t.publishAll(lasting("a", time.Minute), lasting("b", 0))
	r.Clock.Advance(time.Minute)
	s.ack(s.leases(10, "b")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Dead: 1, Bytes: 1, OldestAge: time.Minute, Acked: 1})
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a"})
	same(r, "attempts", dead[0].Attempt, 0)
	same(r, "late", dead[0].Late, true)
	s.settle(dead...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1, DeadLettered: 1})
}

func sweepDeadLettersLate(r *rig) {
	t, s := r.lateDies()
	t.publishAll(lasting("a", time.Minute), lasting("b", time.Minute), lasting("c", time.Hour))
	r.Clock.Advance(time.Minute)
	result := s.sweep(10)
	same(r, "dead", data(result.Dead), []string{"a", "b"})
	same(r, "next", result.NextDue, hold)
	s.settle(result.Dead...)
	s.leases(10, "c")
}

func deadLettersLateAgain(r *rig) {
	t, s := r.lateDies()
	t.publishAll(lasting("a", time.Minute))
	s.nackAtLeast(30*time.Second, s.leaseOne())
	r.Clock.Advance(30 * time.Second)
	s.nackAtLeast(30*time.Second, s.leaseOne())
	r.Clock.Advance(30 * time.Second)
	s.leases(10)
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a"})
	same(r, "attempts", dead[0].Attempt, 2)
}

func deadLettersLateNacked(r *rig) {
	t, s := r.lateDies()
	t.publishAll(lasting("a", time.Second))
	d := s.leaseOne()
	r.Clock.Advance(5 * time.Second)
	s.nack(d)
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a"})
	same(r, "late", dead[0].Late, true)
}

func dropsDeadLate(r *rig) {
	t, s := r.lateDies()
	t.publishAll(lasting("a", time.Minute))
	r.Clock.Advance(time.Minute)
	s.leases(10)
	s.rules.DeadLetterLate = false
	same(r, "dead", len(s.sweep(10).Dead), 0)
	same(r, "stats", s.stats(), subscriptions.Stats{Late: 1})
}

func keyGoesOn(r *rig) {
	t, s := r.one()
	s.rules.Ordered = true
	t.publishAll(keyedLasting("a", time.Minute), keyedLasting("b", 0), keyedLasting("c", 0))
	d := s.leases(1, "a")
	s.leases(10) // parks the others
	s.nackAtLeast(time.Minute, d...)
	r.Clock.Advance(time.Minute)
	s.leases(10)
	s.leases(10, "b", "c")
}

func keyGoesOnBehindDead(r *rig) {
	t, s := r.lateDies()
	s.rules.Ordered = true
	t.publishAll(keyedLasting("a", time.Minute), keyedLasting("b", 0))
	r.Clock.Advance(time.Minute)
	s.leases(10) // b stands behind a, which is dead
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a"})
	s.leases(10)
	s.settle(dead...)
	s.leases(10, "b")
}

func keySkipsMiddle(r *rig) {
	for _, dies := range []bool{false, true} {
		t, s := r.lateDies()
		s.rules.Ordered, s.rules.DeadLetterLate = true, dies
		t.publishAll(keyedLasting("a", 0), keyedLasting("b", time.Minute), keyedLasting("c", 0))
		d := s.leases(1, "a")
		s.leases(10)
		r.Clock.Advance(time.Minute) // the lease ran out
		again := s.lease(10)
		same(r, "first", string(again[0].Message.Data), "a")
		if !dies {
			same(r, "run", data(again), []string{"a", "c"})
			continue
		}
		same(r, "run", data(again), []string{"a"})
		s.ack(again...)
		s.leases(10)
		dead := s.sweep(10).Dead
		same(r, "dead", data(dead), []string{"b"})
		s.settle(dead...)
		s.leases(10, "c")
		s.ack(d...)
	}
}

func sweepKeepsOrder(r *rig) {
	t, s := r.lateDies()
	s.rules.Ordered = true
	t.publishAll(keyedLasting("a", time.Minute), keyedLasting("b", time.Minute), keyedLasting("c", 0))
	r.Clock.Advance(time.Minute)
	for _, want := range []string{"a", "b"} {
		dead := s.sweep(10).Dead
		same(r, "dead", data(dead), []string{want})
		s.leases(10)
		s.settle(dead...)
	}
	s.leases(10, "c")
}

func overflowLate(r *rig) {
	t, s := r.one()
	s.rules.Ordered, s.rules.Outstanding = true, 4
	t.publishAll(keyedLasting("1", 0), keyedLasting("2", 0), keyedLasting("3", 0), keyedLasting("4", time.Minute), keyedLasting("5", 0))
	d := s.leases(1, "1")
	s.leases(10) // parks two and leaves two in the log
	r.Clock.Advance(5 * time.Second)
	s.ack(d...)
	s.extend(time.Hour, s.leases(1, "2")...)
	r.Clock.Advance(time.Minute)
	s.settleAll()
	same(r, "late", s.stats().Late, 1)
	same(r, "left", s.stats().Undelivered+s.stats().Outstanding, 0)
	same(r, "lost", s.stats().Lost, 0)
}

// settleAll leases and acks whatever comes, with leases that run out if need be.
func (s *sub) settleAll() {
	s.Helper()
	for range 20 {
		s.ack(s.lease(10)...)
		s.Clock.Advance(time.Hour)
	}
}

func sourceLate(r *rig) {
	for _, dies := range []bool{false, true} {
		t, s := r.lateDies()
		s.rules.DeadLetterLate = dies
		t.publishAll(lasting("a", time.Minute), lasting("b", 0))
		snap := s.snapshot()
		s.ack(s.lease(10)...)
		s.restore(snap)
		s.lease(10)
		_, err := r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: r.Clock.Now().Add(-time.Hour)})
		r.ok(err)
		r.Clock.Advance(time.Minute)
		s.leases(10, "b")
		if !dies {
			same(r, "late", s.stats().Late, 1)
			continue
		}
		same(r, "dead", data(s.sweep(10).Dead), []string{"a"})
	}
}

func filterLate(r *rig) {
	t, s := r.lateDies()
	s.match(`attributes.k = "v"`)
	yes := lasting("yes", time.Minute)
	yes.Attributes = map[string]string{"k": "v"}
	t.publishAll(lasting("no", time.Minute), yes)
	r.Clock.Advance(time.Minute)
	same(r, "dead", len(s.sweep(10).Dead), 0)
	s.leases(10)
	same(r, "dead", data(s.sweep(10).Dead), []string{"yes"})
	same(r, "filtered", s.stats().Filtered, 1)
}

func boundLate(r *rig) {
	t, s := r.lateDies()
	s.rules.Outstanding = 3
	for range 5 {
		t.publishAll(lasting("a", time.Minute))
	}
	r.Clock.Advance(time.Minute)
	s.leases(10)
	same(r, "outstanding", s.stats().Outstanding, 3)
	for left := 5; left > 0; {
		dead := s.sweep(10).Dead
		left -= len(dead)
		s.settle(dead...)
		if len(dead) == 0 {
			r.Fatalf("%d are left: %+v", left, s.stats())
		}
	}
}
