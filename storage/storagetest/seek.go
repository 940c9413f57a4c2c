package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

var seeking = []check{
	{"back to a time within the topic's retention", seekBack},
	{"back to where nothing is retained", seekBackUnretained},
	{"what is retained in part", seekBackInPart},
	{"to before the subscription was there", seekBefore},
	{"acked messages that are retained", seekAcked},
	{"acked messages of before the subscription was there", seekAckedBefore},
	{"to now and to the future", seekPurge},
	{"what was published at the very time", seekExact},
	{"some of what is outstanding", seekSome},
	{"what happens to leases", seekLeases},
	{"attempts and the dead", seekDead},
	{"order", seekOrder},
	{"order where messages are left in the log", seekLeft},
	{"where some are left and all is retained", seekLeftRetained},
	{"where some are left that are acked", seekLeftAcked},
	{"the bound on what is outstanding", seekBound},
	{"again, before all came", seekAgain},
	{"what is too old", seekOld},
	{"what is too old, swept", seekOldSwept},
	{"what vanished", seekVanished},
	{"large messages", seekLarge},
	{"wake-ups", seekWakes},
	{"redeliveries and the source have half each", seekHalf},
	{"a topic that was closed", seekClosed},
	{"what the log need not keep any more", seekTrim},
	{"a stale revision, and no state", seekStale},
	{"what would change", seekValidate},
	{"what would change of what a key left", seekLeftBound},
	{"is a use", seekUse},
}

// seek seeks to a time.
func (s *sub) seek(to time.Time) {
	s.Helper()
	_, err := s.Store.Seek(s.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: to})
	s.ok(err)
}

// wouldSeek is what a seek to a time would change.
func (s *sub) wouldSeek(to time.Time) subscriptions.SeekResult {
	s.Helper()
	result, err := s.Store.Seek(s.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: to, ValidateOnly: true})
	s.ok(err)
	return result
}

// minutes publishes texts a minute apart, the first one now, and returns that time.
func (t *topic) minutes(texts ...string) time.Time {
	t.Helper()
	start := t.Clock.Now()
	for _, text := range texts {
		t.publish(text)
		t.Clock.Advance(time.Minute)
	}
	return start
}

// retained is one, with a topic that keeps what was published in the last hour.
func (r *rig) retained() (*topic, *sub) {
	r.Helper()
	t, s := r.one()
	t.retain(time.Hour)
	return t, s
}

func seekBack(r *rig) {
	t, s := r.retained()
	start := t.minutes("a", "b", "c", "d")
	s.consume(3)
	s.seek(start.Add(time.Minute))
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 3, Bytes: 3, OldestAge: 3 * time.Minute, Acked: 3})
	s.ack(s.leases(10, "b", "c", "d")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 6})
	s.seek(start.Add(-day))
	s.leases(10, "a", "b", "c", "d")
}

func seekBackUnretained(r *rig) {
	t, s := r.one()
	other := t.attach() // for its sake the log has all
	start := t.minutes("a", "b", "c", "d")
	ds := s.leases(3, "a", "b", "c")
	s.ack(ds[1])
	s.seek(start)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 3, Bytes: 3, OldestAge: 4 * time.Minute, Acked: 1})
	s.leases(10, "a", "c", "d")
	other.leases(10, "a", "b", "c", "d")
}

func seekBackInPart(r *rig) {
	t, s := r.one()
	t.retain(10 * time.Minute)
	start := t.minutes("a", "b", "c")
	held := s.leases(3, "a", "b", "c")
	s.ack(held[2], held[1])
	r.Clock.Advance(7*time.Minute + time.Millisecond) // now a is too old to be retained but not acked
	s.seek(start)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 3, Bytes: 3, OldestAge: 10*time.Minute + time.Millisecond, Acked: 2})
	s.ack(s.leases(10, "a", "b", "c")...)
	r.Clock.Advance(time.Minute)
	s.seek(start)
	s.ack(s.leases(10, "c")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 6})
}

func seekBefore(r *rig) {
	t := r.topic()
	t.retain(time.Hour)
	start := t.minutes("a", "b")
	s := t.attach()
	t.publish("c")
	s.leases(10, "c")
	s.seek(start.Add(time.Minute))
	s.leases(10, "b", "c")
}

func seekAcked(r *rig) {
	t, s := r.one()
	s.retain(10 * time.Minute)
	start := t.minutes("a", "b", "c")
	s.consume(3)
	t.trim()
	t.holds(3)
	s.seek(start.Add(time.Minute))
	s.ack(s.leases(10, "b", "c")...)
	r.Clock.Advance(8 * time.Minute) // a is 11 minutes old
	s.seek(start)
	s.leases(10, "b", "c")
	s.retain(0)
	s.ack(s.leases(10)...)
	s.seek(start)
	s.leases(10, "b", "c") // they were not acked
}

func seekAckedBefore(r *rig) {
	t, other := r.one()
	start := t.minutes("a")
	s := t.attach()
	s.retain(time.Hour)
	t.minutes("b")
	s.consume(1)
	s.seek(start)
	s.leases(10, "b")
	other.leases(10, "a", "b")
}

func seekPurge(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	s.lease(2)
	s.seek(r.Clock.Now().Add(time.Hour))
	same(r, "stats", s.stats(), subscriptions.Stats{})
	t.trim()
	t.holds(0)
	t.publish("d") // before the time that was sought, but after the seek
	s.ack(s.leases(10, "d")...)
	s.seek(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC))
	t.publish("e")
	s.leases(10, "e")
	r.Clock.Advance(time.Millisecond)
	s.seek(r.Clock.Now())
	s.leases(10)
	s.seek(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
	s.leases(10)
}

func seekExact(r *rig) {
	t, s := r.retained()
	at := r.Clock.Now()
	t.publish("a", "b")
	s.consume(2)
	s.seek(at)
	s.ack(s.leases(10, "a", "b")...)
	s.seek(at.Add(time.Nanosecond)) // what was published at the millisecond was published before
	s.leases(10)
	s.seek(at.Add(-time.Nanosecond))
	s.leases(10, "a", "b")
}

// seekSome acks some of many that are outstanding, with sizes that differ.
func seekSome(r *rig) {
	t, s := r.one()
	bytes := 0
	publish := func(n, size int) {
		for range n {
			t.publish(fmt.Sprintf("%0*d", size, bytes))
			bytes += size
		}
	}
	publish(450, 10)
	r.Clock.Advance(time.Minute)
	middle := r.Clock.Now()
	publish(300, 20)
	var held []subscriptions.Delivery
	for len(held) < 750 {
		held = append(held, s.lease(100)...)
	}
	s.ack(held[460:480]...)
	s.seek(middle)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 280, Bytes: 280 * 20, Acked: 20})
	t.trim()
	t.holds(300)
	var came []string
	for len(came) < 280 {
		ds := s.lease(77)
		came = append(came, data(ds)...)
		s.ack(ds...)
	}
	same(r, "order", came, append(data(held[450:460]), data(held[480:])...))
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 300})
	t.holds(0)
}

func seekLeases(r *rig) {
	t, s := r.one()
	start := t.minutes("a", "b")
	s.seek(start)
	old := s.leases(10, "a", "b")
	s.seek(start)
	again := s.leases(10, "a", "b")
	if again[0].Epoch <= old[0].Epoch || again[0].Number != 1 || again[0].Attempt != 1 {
		r.Fatalf("leased %+v", again[0])
	}
	s.ack(old...)
	s.nack(old...)
	s.release(old...)
	s.extend(time.Hour, old...)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Bytes: 2, OldestAge: 2 * time.Minute})
	left, err := r.Store.Remaining(r.Context(), s.ref, receipts(append(old[:1:1], again[1])))
	r.ok(err)
	same(r, "remaining", left, []time.Duration{0, deadline})
	s.ack(again...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2})
}

func seekDead(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 2
	start := t.minutes("a")
	for range 2 {
		s.nack(s.leaseOne())
	}
	same(r, "dead", s.stats().Dead, 1)
	s.seek(start)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 1, OldestAge: time.Minute, Nacked: 2})
	same(r, "dead", len(s.sweep(10).Dead), 0)
	d := s.leaseOne()
	same(r, "attempt", d.Attempt, 1)
	s.nack(d)
	s.nack(s.leaseOne())
	same(r, "dead", len(s.sweep(10).Dead), 1)
}

func seekAgain(r *rig) {
	t, s := r.one()
	start := t.minutes("a", "b", "c", "d", "e")
	s.leases(4, "a", "b", "c", "d")
	s.seek(start)
	s.ack(s.leases(2, "a", "b")[0])
	s.seek(start)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 4, Bytes: 4, OldestAge: 4 * time.Minute, Acked: 1})
	s.leases(1, "b")
	s.seek(start.Add(2 * time.Minute)) // acks b, which is leased, and of the source nothing
	s.leases(1, "c")
	s.seek(start.Add(3 * time.Minute))
	s.ack(s.leases(10, "d", "e")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3})
	t.holds(0)
}

func seekVanished(r *rig) {
	t, s := r.one()
	start := r.Clock.Now()
	ids := t.publish("a", "bb", "c", "d")
	s.lease(3)
	s.seek(start)
	r.Vanish(t.ref.UID, ids[1])
	r.Vanish(t.ref.UID, ids[2])
	s.ack(s.leases(10, "a", "d")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Lost: 2})
}

func seekLarge(r *rig) {
	t, s := r.one()
	start := r.Clock.Now()
	large := string(make([]byte, 300_000))
	for range 8 {
		t.publish(large)
		r.Clock.Advance(time.Second)
	}
	for s.stats().Undelivered > 0 {
		s.lease(10)
	}
	s.seek(start.Add(4 * time.Second))
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 4, Bytes: 1_200_000, OldestAge: 4 * time.Second})
	request := s.request(10)
	request.MaxBytes = 700_000
	same(r, "leased", len(s.leaseWith(request).Deliveries), 2)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 2, Outstanding: 2, Bytes: 1_200_000, OldestAge: 4 * time.Second})
}

func seekWakes(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.lease(1)
	w := r.watch(t.ref.UID)
	s.seek(r.Clock.Now())
	w.brought(s.due(0))
	s.wouldSeek(r.Clock.Now())
	w.brought()
}

func seekClosed(r *rig) {
	t, s := r.retained()
	start := t.minutes("a", "b", "c")
	s.ack(s.leases(2, "a", "b")[0])
	r.ok(r.Store.CloseTopic(r.Context(), t.ref.UID))
	s.seek(start)
	s.leases(10, "b", "c")
}

func seekTrim(r *rig) {
	t, s := r.one()
	t.several(300)
	r.Clock.Advance(time.Minute)
	middle := r.Clock.Now()
	t.several(200)
	s.seek(middle)
	t.trim()
	t.holds(200)
	s.lease(100)
	s.seek(middle)
	s.ack(s.lease(1)...)
	t.trim()
	t.holds(199)
}

func seekStale(r *rig) {
	_, s := r.one()
	old := s.ref
	s.retain(time.Hour)
	_, err := r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: old, Time: r.Clock.Now()})
	r.is(err, subscriptions.ErrStale)
	s.drop()
	_, err = r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: r.Clock.Now()})
	r.is(err, subscriptions.ErrGone)
}

func seekValidate(r *rig) {
	t, s := r.retained()
	start := t.minutes("a", "b", "c", "d", "e")
	ds := s.leases(3, "a", "b", "c")
	s.ack(ds[0], ds[2])
	before := s.stats()
	for minute, want := range []subscriptions.SeekResult{{Unacked: 2}, {Unacked: 1}, {Unacked: 1, Acked: 1}, {Acked: 1}, {Acked: 2}, {Acked: 3}} {
		same(r, fmt.Sprint("minute ", minute), s.wouldSeek(start.Add(time.Duration(minute)*time.Minute)), want)
	}
	same(r, "stats", s.stats(), before)
	s.seek(start)
	s.leases(3, "a", "b", "c")
	same(r, "source", s.wouldSeek(start), subscriptions.SeekResult{})
	t.retain(0)
	same(r, "nothing retained", s.wouldSeek(start.Add(3*time.Minute)), subscriptions.SeekResult{Acked: 3})
}

func seekUse(r *rig) {
	_, s := r.one()
	r.Clock.Advance(time.Hour)
	s.seek(r.Clock.Now())
	same(r, "unused", s.sweep(1).Unused, 0)
}
