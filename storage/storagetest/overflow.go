package storagetest

import (
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

// The cases of ordering in which a key has more than may be parked.

func orderOverflow(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3", "a4", "b0", "a5")
	ds := s.leasesRun(1, "a0", "b0")
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 3, Outstanding: 4, Parked: 2, Bytes: 21})
	s.ack(ds...)
	for _, next := range []string{"a1", "a2"} {
		s.ack(s.leasesRun(1, next)...)
	}
	t.send("a6", "b1")
	for _, next := range []string{"a3 b1", "a4", "a5", "a6"} {
		s.ack(s.leasesRun(1, strings.Fields(next)...)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 9})
	t.holds(0)
}

func orderOverflowTrim(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	ids := t.send("a0", "a1", "a2", "a3", "b0")
	r.Clock.Advance(time.Minute)
	s.ack(s.leasesRun(1, "a0", "b0")...)
	s.ack(s.leasesRun(2, "a1", "a2")...)
	t.trim()
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 3, OldestAge: time.Minute, Acked: 4})
	same(r, "id", s.leasesRun(1, "a3")[0].Message.ID, ids[3])
}

func orderOverflowOld(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding, s.rules.Retention = 4, time.Hour
	t.send("a0", "a1", "a2", "a3", "a4")
	s.leasesRun(1, "a0")
	r.Clock.Advance(2 * time.Hour)
	for s.sweep(10).More {
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Dropped: 5})
	t.send("a5")
	s.leasesRun(1, "a5")
}

func orderOverflowAgain(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 2
	var want []string
	for i := range 9 {
		want = append(want, "a"+string(rune('0'+i)))
	}
	t.send(want...)
	for _, next := range want {
		s.nack(s.leasesRun(1, next)...)
		s.ack(s.leasesRun(1, next)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 9, Nacked: 9})
}

func orderWakeHungry(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 2
	t.send("a0", "a1", "a2")
	s.ack(s.leasesRun(1, "a0")...)
	ds := s.leasesRun(1, "a1")
	w := r.watch(t.ref.UID)
	s.ack(ds...)
	w.brought(subscriptions.Wake{Kind: subscriptions.Due, Subscription: s.ref.Subscription})
	s.leasesRun(1, "a2")
}

// Here a2 is the last of the key in its queue, three others fill the rest, and a3 is in the log.
func orderWakeRoom(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3")
	last := s.leasesRun(1, "a0")
	others := []subscriptions.Delivery{}
	for i, other := range []string{"b", "c", "d"} {
		t.send(other)
		if i > 0 {
			s.ack(last...)
			ds := s.leasesRun(1, "a"+string(rune('0'+i)), other)
			last, others = ds[:1], append(others, ds[1])
		} else {
			others = append(others, s.leasesRun(1, other)...)
		}
	}
	s.rules.Outstanding = 3
	s.ack(last...)
	s.leasesRun(1) // no room for a3
	w := r.watch(t.ref.UID)
	s.ack(others[0])
	w.brought(subscriptions.Wake{Kind: subscriptions.Due, Subscription: s.ref.Subscription})
	s.leasesRun(1, "a3")
}

func orderOverflowSkipped(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding, s.rules.Retention = 4, time.Hour
	t.send("a0", "a1", "a2", "a3")
	s.leasesRun(1, "a0")
	t.send("a4")
	r.Clock.Advance(2 * time.Hour)
	for s.sweep(10).More {
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Dropped: 5})
	t.holds(0)
	t.send("a5")
	s.leasesRun(1, "a5")
}

func orderOverflowSkippedThenNew(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding, s.rules.Retention = 4, time.Hour
	t.send("a0", "a1", "a2", "a3")
	s.nackAtLeast(10*time.Hour, s.leasesRun(1, "a0")...)
	t.send("a4")
	r.Clock.Advance(2 * time.Hour)
	t.send("a5", "a6", "a7")
	s.leasesRun(1)
	for s.sweep(10).More {
	}
	for _, next := range []string{"a5", "a6", "a7"} {
		s.ack(s.leasesRun(1, next)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3, Nacked: 1, Dropped: 5})
	t.holds(0)
}

// What was skipped as too old has gone, and what was left before it has, too, though it would not be too old any more.
func orderOverflowKept(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding, s.rules.Retention = 4, time.Hour
	t.send("a0", "a1", "a2", "a3")
	s.nackAtLeast(10*time.Hour, s.leasesRun(1, "a0")...)
	t.send("a4")
	r.Clock.Advance(2 * time.Hour)
	s.leasesRun(1)
	s.rules.Retention = day
	r.Clock.Advance(10 * time.Hour)
	t.send("a5")
	for _, next := range []string{"a0", "a1", "a2", "a5"} {
		s.ack(s.leasesRun(1, next)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 4, Nacked: 1, Dropped: 2})
	t.holds(0)
}

func orderOverflowClock(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3", "a4")
	ds := s.leasesRun(1, "a0")
	r.Clock.Advance(-time.Minute)
	t.send("a5")
	s.leasesRun(1)
	s.ack(ds...)
	for _, next := range []string{"a1", "a2", "a3", "a4", "a5"} {
		s.ack(s.leasesRun(1, next)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 6})
	t.holds(0)
}

func orderOverflowVanished(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	ids := t.send("a0", "a1", "a2", "a3", "a4", "a5")
	ds := s.leasesRun(1, "a0")
	t.vanish(ids[2], ids[4])
	s.ack(ds...)
	s.ack(s.leasesRun(1, "a1")...)
	s.leasesRun(1) // finds that a2 has gone
	s.ack(s.leasesRun(1, "a3")...)
	s.ack(s.leasesRun(1, "a5")...)
	same(r, "counts", s.counts(), subscriptions.Stats{Acked: 4, Lost: 2})
	t.send("a6")
	s.ack(s.leasesRun(1, "a6")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 5, Lost: 2})
	t.holds(0)
}

func orderOverflowVanishedAll(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 2
	ids := t.send("a0", "a1", "a2", "a3")
	s.ack(s.leasesRun(1, "a0")...)
	ds := s.leasesRun(1, "a1")
	s.leasesRun(1)
	t.vanish(ids[2:]...)
	s.ack(ds...)
	s.leasesRun(1)
	t.send("a4")
	s.ack(s.leasesRun(1, "a4")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3, Lost: 2})
	t.holds(0)
}

func orderOverflowDrop(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3", "a4")
	s.leasesRun(1, "a0")
	s.drop()
	t.holds(0)
	next := t.attach()
	next.rules.Ordered = true
	t.send("a5")
	next.ack(next.leasesRun(1, "a5")...)
	same(r, "stats", next.stats(), subscriptions.Stats{Acked: 1})
}

// orderOverflowMany leases and acks until nothing comes any more.
func orderOverflowMany(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 8
	const keys, each = 6, 9
	for i := range each {
		for k := range keys {
			t.send(string(rune('a'+k)) + strconv.Itoa(i))
		}
	}
	next := [keys]int{}
	for total, idle := 0, 0; total < keys*each; {
		q := s.request(5)
		q.Run = 2
		ds := s.leaseWith(q).Deliveries
		if idle++; len(ds) > 0 {
			idle = 0
		} else if idle > 100 {
			r.Fatalf("after %d messages nothing comes: %+v", total, s.stats())
		}
		for _, d := range ds {
			k := d.Message.Data[0] - 'a'
			same(r, "next of a key", string(d.Message.Data[1:]), strconv.Itoa(next[k]))
			next[k]++
		}
		s.ack(ds...)
		total += len(ds)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: keys * each})
	t.holds(0)
}

// With one key after the other, each reads what all others left: here that took thousands of leases.
func orderOverflowTogether(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 100
	const keys, each = 300, 6
	for i := range each {
		msgs := make([]subscriptions.Message, keys)
		for k := range msgs {
			msgs[k] = subscriptions.Message{Data: []byte{byte('0' + i)}, OrderingKey: strconv.Itoa(k)}
		}
		t.publishAll(msgs...)
	}
	next := map[string]byte{}
	var held []subscriptions.Delivery
	leases := 0
	for total := 0; total < keys*each; leases++ {
		if leases > 500 {
			r.Fatalf("after %d leases %d messages came: %+v", leases, total, s.stats())
		}
		ds := s.lease(40)
		for _, d := range ds {
			same(r, "next of a key", d.Message.Data[0], '0'+next[d.Message.OrderingKey])
			next[d.Message.OrderingKey]++
		}
		total += len(ds)
		s.ack(held...)
		held = ds
	}
	s.ack(held...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: keys * each})
	r.Logf("%d leases", leases)
}

// overflowed leaves the key a with a2, the last of its queue, leased, and a3 in the log.
func (r *rig) overflowed() (*topic, *sub, []subscriptions.Delivery) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a0", "a1", "a2", "a3")
	s.ack(s.leasesRun(1, "a0")...)
	s.ack(s.leasesRun(1, "a1")...)
	return t, s, s.leasesRun(1, "a2")
}

func orderOverflowDead(r *rig) {
	t, s, ds := r.overflowed()
	s.rules.MaxAttempts = 1
	s.nack(ds...)
	s.leasesRun(1)
	s.settle(s.sweep(10).Dead...)
	s.ack(s.leasesRun(1, "a3")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3, Nacked: 1, DeadLettered: 1})
	t.holds(0)
}

func orderOverflowReview(r *rig) {
	t, s, ds := r.overflowed()
	s.nackAtLeast(time.Hour, ds...)
	s.rules.MaxAttempts = 1
	s.review(10, 0)
	s.leasesRun(1)
	r.Clock.Advance(time.Hour)
	s.settle(s.sweep(10).Dead...)
	s.ack(s.leasesRun(1, "a3")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3, Nacked: 1, DeadLettered: 1})
	t.holds(0)
}

func orderOverflowBound(r *rig) {
	t, s, ds := r.overflowed()
	t.send("b0", "a4")
	b := s.leasesRun(1, "b0")
	s.rules.Outstanding = 1
	s.ack(ds...)
	s.leasesRun(1) // b0 takes the only place
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 2, Outstanding: 1, Bytes: 9, Acked: 3})
	s.ack(b...)
	s.ack(s.leasesRun(1, "a3")...)
	s.rules.Outstanding = 1000
	s.ack(s.leasesRun(1, "a4")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 6})
	t.holds(0)
}

func orderOverflowSmall(r *rig) {
	for _, bound := range []int{1, 2, 3} {
		t, s := r.ordered()
		s.rules.Outstanding = bound
		t.send("a0", "b0", "a1", "a2", "b1", "a3", "b2", "a4")
		next := map[byte]int{}
		for range 100 {
			ds := s.leaseWith(s.request(3)).Deliveries
			for _, d := range ds {
				k := d.Message.Data[0]
				same(r, "next of a key", string(d.Message.Data[1:]), strconv.Itoa(next[k]))
				next[k]++
			}
			s.nack(ds[min(1, len(ds)):]...)
			for _, d := range ds[min(1, len(ds)):] {
				next[d.Message.Data[0]] = min(next[d.Message.Data[0]], int(d.Message.Data[1]-'0'))
			}
			s.ack(ds[:min(1, len(ds))]...)
		}
		got := s.stats()
		got.Nacked = 0
		same(r, "stats", got, subscriptions.Stats{Acked: 8})
	}
}

func orderOverflowFar(r *rig) {
	t, s, ds := r.overflowed()
	for range 4 {
		many := make([]string, 150)
		for i := range many {
			many[i] = "-x"
		}
		t.send(many...)
	}
	t.send("a4")
	s.rules.Outstanding = 1000
	for _, d := range s.drain() {
		same(r, "data", string(d.Message.Data), "-x")
	}
	s.rules.Outstanding = 4
	s.ack(ds...)
	s.ack(s.leasesRun(1, "a3")...)
	for range 5 { // a4 is too far to be found at once
		s.ack(s.lease(1)...)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 605})
	t.holds(0)
}

// drain leases and acks until there is no more.
func (s *sub) drain() (all []subscriptions.Delivery) {
	s.Helper()
	for {
		result := s.leaseWith(s.request(200))
		s.ack(result.Deliveries...)
		all = append(all, result.Deliveries...)
		if !result.More {
			return all
		}
	}
}
