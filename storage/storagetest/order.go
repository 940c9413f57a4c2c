package storagetest

import (
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

var ordering = []check{
	{"one after the other", orderOne},
	{"a run in one answer", orderRun},
	{"runs are bounded", orderRunBound},
	{"other keys flow", orderOthers},
	{"without order, keys mean nothing", orderOff},
	{"no key, no order", orderNoKey},
	{"a nack brings back all that follow", orderNack},
	{"an expired lease brings back all that follow", orderExpiry},
	{"a release brings back all that follow", orderRelease},
	{"acks are provisional until those before", orderProvisional},
	{"a provisional ack is revoked", orderRevoked},
	{"a late ack of what comes again means nothing", orderLate},
	{"late acks of what comes again next mean nothing", orderLateNext},
	{"late acks of a run that nobody got again", orderLateHead},
	{"a late and a current ack in one call", orderLateAndCurrent},
	{"a follower is refused", orderFollower},
	{"a dead head frees its key when it is moved", orderDead},
	{"a follower that had all its attempts", orderDeadFollower},
	{"a head that outlived the retention", orderOld},
	{"a head that vanished", orderVanished},
	{"what comes while a key is blocked is parked", orderParked},
	{"a run goes on with what is new", orderRunNew},
	{"parked messages count as outstanding", orderBound},
	{"a key with too much to park", orderOverflow},
	{"what overflowed is needed in the log", orderOverflowTrim},
	{"what overflowed and is too old", orderOverflowOld},
	{"a key that overflows again", orderOverflowAgain},
	{"what overflowed and what was skipped behind it", orderOverflowSkipped},
	{"what comes behind what overflowed and was skipped", orderOverflowSkippedThenNew},
	{"what overflowed and the retention is raised", orderOverflowKept},
	{"what overflowed and the clock goes back", orderOverflowClock},
	{"some of what overflowed vanished", orderOverflowVanished},
	{"all of what overflowed vanished", orderOverflowVanishedAll},
	{"what overflowed goes with the subscription", orderOverflowDrop},
	{"many keys that overflow", orderOverflowMany},
	{"many keys that overflow go on together", orderOverflowTogether},
	{"a key that overflowed, with a dead head", orderOverflowDead},
	{"a key that overflowed, with a head found dead", orderOverflowReview},
	{"a key that overflowed, and a lower bound", orderOverflowBound},
	{"bounds of one and two", orderOverflowSmall},
	{"a key that overflowed, and more than one step behind it", orderOverflowFar},
	{"acks behind an old head free their places", orderOldAcked},
	{"parked messages and another number of attempts", orderAttemptsChange},
	{"many acked behind many heads", orderAckedMany},
	{"waiters hear of a freed key", orderWake},
	{"waiters hear of a key to be filled again", orderWakeHungry},
	{"waiters hear of room for a key to be filled again", orderWakeRoom},
}

// ordered opens a topic with a subscription that keeps order.
func (r *rig) ordered() (*topic, *sub) {
	t, s := r.one()
	s.rules.Ordered = true
	return t, s
}

// send publishes texts such as "a1": the letter is the key, and "-1" has none.
func (t *topic) send(texts ...string) []subscriptions.MessageID {
	t.Helper()
	msgs := make([]subscriptions.Message, len(texts))
	for i, text := range texts {
		msgs[i] = subscriptions.Message{Data: []byte(text), OrderingKey: strings.Trim(text[:1], "-")}
	}
	return t.publishAll(msgs...)
}

// leasesRun leases runs of so many and checks what comes.
func (s *sub) leasesRun(run int, want ...string) []subscriptions.Delivery {
	s.Helper()
	r := s.request(100)
	r.Run = run
	ds := s.leaseWith(r).Deliveries
	same(s.rig, "deliveries", strings.Join(data(ds), " "), strings.Join(want, " "))
	return ds
}

func orderOne(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "a3")
	for _, next := range []string{"a1", "a2", "a3"} {
		ds := s.leasesRun(1, next)
		s.leasesRun(1)
		s.ack(ds...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3})
}

func orderRun(r *rig) {
	t, s := r.ordered()
	t.send("a1", "b1", "a2", "b2")
	ds := s.leasesRun(100, "a1", "b1", "a2", "b2")
	s.leasesRun(100)
	s.ack(ds...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 4})
	t.holds(0)
}

func orderRunBound(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "a3", "a4", "a5")
	ds := s.leasesRun(2, "a1", "a2")
	s.ack(ds[0])
	s.leasesRun(2) // a2 is still out
	s.ack(ds[1])
	s.leasesRun(2, "a3", "a4")
}

func orderOthers(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "b1", "-1", "b2", "-2")
	s.leasesRun(1, "a1", "b1", "-1", "-2")
}

func orderOff(r *rig) {
	t, s := r.one()
	t.send("a1", "a2")
	ds := s.leasesRun(1, "a1", "a2")
	same(r, "key", ds[0].Key, 0)
}

func orderNoKey(r *rig) {
	t, s := r.ordered()
	t.send("-1", "-2")
	ds := s.leasesRun(1, "-1", "-2")
	s.ack(ds[1])
	same(r, "acked", s.stats().Acked, 1)
}

func orderNack(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(5 * time.Second)
	t.send("a0", "a1", "a2", "b0")
	ds := s.leasesRun(100, "a0", "a1", "a2", "b0")
	s.nack(ds[0])
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 4, Parked: 2, Bytes: 8 + 4, Nacked: 1})
	s.leasesRun(100)
	r.Clock.Advance(5 * time.Second)
	again := s.leasesRun(100, "a0", "a1", "a2")
	same(r, "attempt of the head", again[0].Attempt, 2)
	same(r, "attempt of a follower", again[1].Attempt, 1)
	same(r, "number of a follower", again[1].Number, 3)
}

func orderExpiry(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1", "a2")
	ds := s.leasesRun(100, "a0", "a1", "a2")
	s.ack(ds[2])
	r.Clock.Advance(deadline)
	again := s.leasesRun(100, "a0", "a1", "a2")
	same(r, "attempts", []int{again[0].Attempt, again[1].Attempt, again[2].Attempt}, []int{2, 1, 1})
	same(r, "expired", s.stats().Expired, 1)
}

func orderRelease(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1")
	ds := s.leasesRun(100, "a0", "a1")
	s.release(ds...)
	again := s.leasesRun(100, "a0", "a1")
	same(r, "attempts", []int{again[0].Attempt, again[1].Attempt}, []int{1, 1})
}

func orderProvisional(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1", "a2", "a3")
	ds := s.leasesRun(3, "a0", "a1", "a2")
	s.ack(ds[1], ds[2])
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 4, Parked: 1, Bytes: 8 + 4})
	s.leasesRun(100)
	s.ack(ds[0])
	same(r, "acked", s.stats().Acked, 3)
	s.leasesRun(100, "a3")
}

func orderRevoked(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1", "a2")
	ds := s.leasesRun(100, "a0", "a1", "a2")
	s.ack(ds[1])
	s.nack(ds[0])
	again := s.leasesRun(100, "a0", "a1", "a2")
	same(r, "attempt", again[1].Attempt, 1)
	s.ack(again...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3, Nacked: 1})
}

func orderFollower(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Hour)
	t.send("a0", "a1", "a2")
	ds := s.leasesRun(100, "a0", "a1", "a2")
	s.nack(ds[1])
	s.leasesRun(100)
	s.ack(ds[0])
	again := s.leasesRun(100, "a1", "a2") // its head went, so it need not wait
	same(r, "attempts", []int{again[0].Attempt, again[1].Attempt}, []int{2, 1})
}

func orderDead(r *rig) {
	t, s := r.ordered()
	s.rules.MaxAttempts = 1
	t.send("a0", "a1")
	ds := s.leasesRun(1, "a0")
	s.nack(ds[0])
	s.leasesRun(1)
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a0"})
	s.leasesRun(1)
	s.settle(dead...)
	s.leasesRun(1, "a1")
}

func orderDeadFollower(r *rig) {
	t, s := r.ordered()
	s.rules.MaxAttempts = 1
	t.send("a0", "a1", "a2")
	ds := s.leasesRun(100, "a0", "a1", "a2")
	s.nack(ds[1])
	same(r, "dead", s.stats().Dead, 0)
	s.ack(ds[0])
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a1"})
	s.settle(dead...)
	s.leasesRun(100, "a2")
}

func orderOld(r *rig) {
	t, s := r.ordered()
	s.rules.Retention = time.Hour
	t.send("a0")
	r.Clock.Advance(30 * time.Minute)
	t.send("a1")
	s.leasesRun(1, "a0")
	s.leasesRun(1)
	r.Clock.Advance(31 * time.Minute)
	s.leasesRun(1) // drops a0, which frees a1
	s.leasesRun(1, "a1")
	same(r, "dropped", s.stats().Dropped, 1)
}

func orderVanished(r *rig) {
	t, s := r.ordered()
	ids := t.send("a0", "a1")
	s.nack(s.leasesRun(1, "a0")...)
	s.leasesRun(1, "a0")
	r.Vanish(t.ref.UID, ids[0])
	r.Clock.Advance(deadline)
	s.leasesRun(1)
	s.leasesRun(1, "a1")
	same(r, "lost", s.stats().Lost, 1)
}

func orderParked(r *rig) {
	t, s := r.ordered()
	t.send("a0")
	ds := s.leasesRun(100, "a0")
	t.send("a1", "b0", "a2")
	s.leasesRun(100, "b0")
	same(r, "parked", s.stats().Parked, 2)
	s.ack(ds...)
	s.leasesRun(100, "a1", "a2")
}

func orderRunNew(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1")
	s.release(s.leasesRun(1, "a0")...)
	t.send("a2", "b0")
	s.leasesRun(100, "a0", "a1", "a2", "b0")
}

func orderBound(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 6
	t.send("a0", "a1", "a2", "-0", "-1", "-2", "-3")
	s.leasesRun(1, "a0", "-0", "-1", "-2")
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Outstanding: 6, Parked: 2, Bytes: 17})
}

func orderWake(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1")
	ds := s.leasesRun(1, "a0")
	s.leasesRun(1)
	w := r.watch(t.ref.UID)
	s.ack(ds...)
	w.brought(subscriptions.Wake{Kind: subscriptions.Due, Subscription: s.ref.Subscription})
}

func orderOldAcked(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding, s.rules.Retention = 3, time.Hour
	t.send("a0")
	r.Clock.Advance(30 * time.Minute)
	t.send("a1", "a2")
	q := s.request(100)
	q.Deadline = 2 * time.Hour
	s.ack(s.leaseWith(q).Deliveries[1:]...)
	same(r, "stats", s.stats().Outstanding, 3)
	r.Clock.Advance(31 * time.Minute)
	s.sweep(10) // drops a0, and what was acked behind it goes
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Dropped: 1})
	t.holds(0)
}

func orderAttemptsChange(r *rig) {
	t, s := r.ordered()
	t.send("a0", "a1", "a2")
	ds := s.leasesRun(100, "a0", "a1", "a2")
	s.nack(ds[1]) // parked after one attempt
	s.rules.MaxAttempts = 1
	s.ack(ds[0])
	s.leasesRun(100) // tells of one attempt, which makes a1 dead
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a1"})
	s.rules.MaxAttempts = 0
	r.Clock.Advance(hold)
	same(r, "dead", data(s.sweep(10).Dead), []string{})
	again := s.leasesRun(100, "a1", "a2")
	same(r, "attempts", []int{again[0].Attempt, again[1].Attempt}, []int{2, 1})
	s.settle(dead...) // moved all the same
	s.ack(again...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Nacked: 1, DeadLettered: 1})
}

// More goes in one call than Lua can pass at once.
func orderAckedMany(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 100_000
	const keys, run = 100, 100
	var heads, followers []subscriptions.Delivery
	for k := range keys {
		msgs := make([]subscriptions.Message, run)
		for i := range msgs {
			msgs[i] = subscriptions.Message{Data: []byte{byte(i)}, OrderingKey: strconv.Itoa(k)}
		}
		t.publishAll(msgs...)
		ds := s.lease(run)
		same(r, "leased", len(ds), run)
		heads, followers = append(heads, ds[0]), append(followers, ds[1:]...)
	}
	s.ack(followers...)
	same(r, "outstanding", s.stats().Outstanding, keys*run)
	s.ack(heads...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: keys * run})
	t.trim()
	t.holds(0)
}
