package storagetest

import (
	"slices"
	"time"

	"postrider/subscriptions"
)

var dying = []check{
	{"dead after the last nack", deadByNack},
	{"dead after the last expired lease", deadByExpiry},
	{"dead without anybody pulling", deadBySweep},
	{"fewer attempts than were had", deadByPatch},
	{"fewer attempts, without anybody pulling", deadByPatchSweep},
	{"fewer attempts, for some of many", deadByPatchMany},
	{"dead behind many that wait", deadBehindWaiting},
	{"released attempts do not kill", deadNotByRelease},
	{"a late ack saves a dead message", deadAcked},
	{"a dead message is not leased, nacked, extended or released", deadUntouched},
	{"dead no longer, without a policy", revivedWithoutPolicy},
	{"dead no longer, with more attempts", revivedMoreAttempts},
	{"dead no longer, but held", revivedHeld},
	{"the whole way to the dead-letter topic", deadMoved},
}

// kill leases all there is and lets it die.
func (s *sub) kill(want ...string) []subscriptions.Delivery {
	s.Helper()
	s.rules.MaxAttempts = 1
	ds := s.leases(100, want...)
	s.nack(ds...)
	return ds
}

func deadByNack(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 5
	t.publish("a")
	for i := range 5 {
		d := s.leaseOne()
		same(r, "attempt", d.Attempt, i+1)
		same(r, "dead", s.stats().Dead, 0)
		s.nack(d)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Dead: 1, Bytes: 1, Nacked: 5})
	same(r, "lease", s.leaseWith(s.request(10)), subscriptions.LeaseResult{NextDue: -1})
	r.Clock.Advance(day)
	s.leases(10)
}

func deadByExpiry(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 2
	s.rules.Retry = fixed(time.Second)
	t.publish("a")
	s.leaseOne()
	r.Clock.Advance(deadline)
	s.comesAfter(time.Second)
	r.Clock.Advance(deadline - time.Millisecond)
	same(r, "dead", len(s.sweep(10).Dead), 0)
	r.Clock.Advance(time.Millisecond)
	same(r, "lease", s.leaseWith(s.request(10)), subscriptions.LeaseResult{NextDue: -1})
	same(r, "stats", s.stats(), subscriptions.Stats{
		Outstanding: 1, Dead: 1, Bytes: 1, OldestAge: 2*deadline + time.Second, Expired: 2,
	})
}

func deadBySweep(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 1
	id := t.publish("a")[0]
	s.leaseOne()
	r.Clock.Advance(deadline)
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a"})
	same(r, "id", dead[0].Message.ID, id)
	same(r, "number", dead[0].Number, 1)
	same(r, "attempt", dead[0].Attempt, 1)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Dead: 1, Bytes: 1, OldestAge: deadline, Expired: 1})
}

// waitingAt7 leaves a message that had 7 attempts and waits for a minute.
func waitingAt7(r *rig) *sub {
	t, s := r.one()
	t.publish("a")
	for range 6 {
		s.nack(s.leaseOne())
	}
	d := s.leaseOne()
	same(r, "attempt", d.Attempt, 7)
	s.nackAtLeast(time.Minute, d)
	return s
}

func deadByPatch(r *rig) {
	s := waitingAt7(r)
	s.rules.MaxAttempts = 5
	r.Clock.Advance(time.Minute - time.Millisecond)
	s.leases(10)
	same(r, "dead", s.stats().Dead, 0)
	r.Clock.Advance(time.Millisecond)
	s.leases(10)
	same(r, "dead", s.stats().Dead, 1)
	same(r, "expired", s.stats().Expired, 0)
	same(r, "attempt", s.sweep(10).Dead[0].Attempt, 7)
}

func deadByPatchSweep(r *rig) {
	s := waitingAt7(r)
	s.rules.MaxAttempts = 5
	same(r, "next due", s.sweep(10).NextDue, -1) // without a review, what waits is no work
	result := s.review(10, 0)
	same(r, "dead", len(result.Dead), 0)
	same(r, "review", result.Review, -1)
	same(r, "next due", result.NextDue, time.Minute)
	r.Clock.Advance(time.Minute)
	same(r, "dead", data(s.sweep(10).Dead), []string{"a"})
}

// deadByPatchMany has more to review than one sweep looks at, and most of it stays.
func deadByPatchMany(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 10
	s.rules.Retry = fixed(time.Minute)
	t.several(450)
	ds := s.all()
	s.nack(ds...)
	r.Clock.Advance(time.Minute)
	tried := []int{3, 240, 449}
	for range 5 {
		again := s.all()
		slices.SortFunc(again, func(a, b subscriptions.Delivery) int { return a.Message.ID.Compare(b.Message.ID) })
		for _, i := range tried {
			s.nack(again[i])
		}
		s.release(except(again, tried)...)
		r.Clock.Advance(time.Minute)
	}
	s.rules.MaxAttempts = 5
	var dead []subscriptions.MessageID
	for place := 0; place >= 0; {
		result := s.review(10, place)
		place = result.Review
		for _, d := range result.Dead {
			dead = append(dead, d.Message.ID)
		}
	}
	slices.SortFunc(dead, subscriptions.MessageID.Compare)
	same(r, "dead", dead, []subscriptions.MessageID{ds[3].Message.ID, ds[240].Message.ID, ds[449].Message.ID})
}

// except leaves out the deliveries at these places.
func except(ds []subscriptions.Delivery, places []int) (rest []subscriptions.Delivery) {
	for i, d := range ds {
		if !slices.Contains(places, i) {
			rest = append(rest, d)
		}
	}
	return rest
}

// deadBehindWaiting is about a lease that runs out unseen behind many messages that wait and that nobody pulls.
func deadBehindWaiting(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 2
	t.several(301)
	ds := s.all()
	s.nack(ds...)
	last := s.lease(1)[0]
	r.Clock.Advance(deadline)
	same(r, "dead", data(s.sweep(10).Dead), data([]subscriptions.Delivery{last}))
}

func deadNotByRelease(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 2
	t.publish("a")
	s.nack(s.leaseOne())
	for range 5 {
		s.release(s.leaseOne())
	}
	same(r, "dead", s.stats().Dead, 0)
	s.nack(s.leaseOne())
	same(r, "dead", s.stats().Dead, 1)
	dead := s.sweep(10).Dead
	same(r, "number", dead[0].Number, 7)
	same(r, "attempt", dead[0].Attempt, 2)
}

func deadAcked(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	ds := s.kill("a", "b")
	s.ack(ds[0])
	same(r, "dead", data(s.sweep(10).Dead), []string{"b"})
	s.ack(ds[1]) // held by a sweep
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Nacked: 2})
	r.Clock.Advance(hold)
	same(r, "dead", len(s.sweep(10).Dead), 0)
}

func deadUntouched(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.kill("a")[0]
	before := s.stats()
	s.nack(d)
	s.release(d)
	s.extend(time.Hour, d)
	same(r, "stats", s.stats(), before)
	s.leases(10)
	same(r, "dead", data(s.sweep(10).Dead), []string{"a"})
}

func revivedWithoutPolicy(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.kill("a", "b")
	s.rules.MaxAttempts = 0
	s.leases(10) // not before a sweep
	result := s.sweep(1)
	same(r, "dead", len(result.Dead), 0)
	same(r, "more", result.More, false)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Bytes: 2, Nacked: 2})
	ds := s.leases(10, "a", "b")
	same(r, "number", ds[0].Number, 2)
	same(r, "attempt", ds[0].Attempt, 2)
}

func revivedMoreAttempts(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.kill("a")
	t.publish("b")
	s.rules.MaxAttempts = 2
	s.nack(s.leases(10, "b")...)
	s.nack(s.leases(10, "b")...)
	same(r, "dead", data(s.sweep(10).Dead), []string{"b"})
	s.nack(s.leases(10, "a")...)
	same(r, "dead", data(s.sweep(10).Dead), []string{"a"})
}

func revivedHeld(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.kill("a")
	same(r, "dead", data(s.sweep(10).Dead), []string{"a"})
	s.rules.MaxAttempts = 0
	s.sweep(10)
	s.leases(10) // somebody may be moving it
	r.Clock.Advance(hold)
	s.sweep(10)
	d := s.leaseOne()
	s.settle(d) // and had moved it
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 1, DeadLettered: 1})
}

func deadMoved(r *rig) {
	t, s := r.one()
	letters, reader := r.one()
	s.rules.MaxAttempts = 5
	t.publish("a")
	for range 5 {
		s.nack(s.leaseOne())
	}
	r.Clock.Advance(time.Second)
	dead := s.sweep(10).Dead
	same(r, "attempt", dead[0].Attempt, 5)
	copied := dead[0].Message
	copied.Attributes = map[string]string{"CloudPubSubDeadLetterSourceDeliveryCount": "5"}
	letters.append(s, copied)
	s.settle(dead...)
	letters.forget(s, copied.ID)
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 5, DeadLettered: 1})
	same(r, "log", t.length(), 0)
	d := reader.leaseOne()
	same(r, "attempt", d.Attempt, 1)
	same(r, "publish time", d.Message.PublishTime(), r.Clock.Now())
	same(r, "number", d.Message.ID.N(), 1)
	copied.ID = d.Message.ID
	sameMessage(r, d.Message, copied)
}
