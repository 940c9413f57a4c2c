package storagetest

import (
	"strconv"
	"time"

	"postrider/subscriptions"
)

var delaying = []check{
	{"a delayed message comes when it is due, and not before", comesWhenDue},
	{"a time can be named in place of a delay", comesAtItsTime},
	{"a time that has passed is now", comesAtOnceWhenPast},
	{"the message keeps the id and the publish time of its publish", keepsItsID},
	{"it is settled like any other", settlesDelayed},
	{"what is not due counts nowhere", countsNowhere},
	{"what is not due does not keep the log", doesNotKeepTheLog},
	{"its age, and its retention, begin when it is due", agesFromDue},
	{"a lease says when the next message is due", tellsWhenDue},
	{"who is attached when it is due gets it, whoever was before", goesToWhoIsThere},
	{"with nothing attached it is dropped when it is due", isDroppedForNobody},
	{"with retention it is kept for nobody", isRetainedForNobody},
	{"a batch may mix what is delayed and what is not", mixesDelays},
	{"a seek does not touch it", seekLeavesDelayed},
	{"a seek acks what is due", seekAcksDue},
	{"what is due after a snapshot comes again with it", snapshotHasDueLater},
	{"closing the topic drops it", closeDropsDelayed},
	{"a dead letter is not delayed again", deadLetterIsNotDelayed},
	{"a filter sees it when it is due", filtersDelayed},
	{"a bounded number is appended at once, and all in the end", appendsBounded},
	{"a heavy one counts for many", appendsFewLarge},
	{"AppendDue does so without anybody leasing", appendsByItself},
	{"it is listed in order of when it is due", listsDelayed},
	{"pages end anywhere", pagesDelayed},
	{"a page goes on although its last message has gone", pagesGoOn},
	{"it can be cancelled", cancelsDelayed},
	{"what is due cannot be cancelled", cannotCancelDue},
	{"a closed topic has no list", listsNothingOfClosed},
	{"an earlier one wakes who waits", wakesForEarlier},
	{"a batch of delayed messages alone is nothing published", wakesForDueAlone},
}

// delayed is a message that is due some time after its publish.
func delayed(text string, d time.Duration) subscriptions.Message {
	return subscriptions.Message{Data: []byte(text), Timing: subscriptions.Timing{Delay: d}}
}

func comesWhenDue(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute))
	s.leases(10)
	r.Clock.Advance(time.Minute - time.Millisecond)
	s.leases(10)
	r.Clock.Advance(time.Millisecond)
	s.leases(10, "a")
	s.leases(10)
}

func comesAtItsTime(r *rig) {
	t, s := r.one()
	m := delayed("a", 0)
	m.Timing.DeliverAt = r.Clock.Now().Add(time.Minute - time.Microsecond) // the clock's milliseconds decide
	t.publishAll(m)
	r.Clock.Advance(time.Minute - time.Millisecond)
	s.leases(10)
	r.Clock.Advance(time.Millisecond)
	s.leases(10, "a")
}

func comesAtOnceWhenPast(r *rig) {
	t, s := r.one()
	m := delayed("b", 0)
	m.Timing.DeliverAt = r.Clock.Now().Add(-time.Hour)
	ids := t.publishAll(delayed("a", time.Hour), m, subscriptions.Message{Data: []byte("c")})
	ds := s.leases(10, "b", "c")
	same(r, "ids", []subscriptions.MessageID{ds[0].Message.ID, ds[1].Message.ID}, ids[1:])
	s.ack(ds...)
	same(r, "outstanding", s.stats().Outstanding, 0)
}

func keepsItsID(r *rig) {
	t, s := r.one()
	ids := t.publishAll(delayed("a", time.Minute))
	at := r.Clock.Now()
	r.Clock.Advance(time.Hour)
	d := s.leaseOne()
	same(r, "id", d.Message.ID, ids[0])
	same(r, "publish time", d.Message.PublishTime(), at)
	same(r, "timing", d.Message.Timing, subscriptions.Timing{})
}

func settlesDelayed(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute), delayed("b", time.Minute))
	r.Clock.Advance(time.Hour)
	ds := s.leases(10, "a", "b")
	s.nack(ds[0])
	again := s.leaseOne()
	same(r, "attempt", again.Attempt, 2)
	s.extend(time.Hour, again)
	r.Clock.Advance(30 * time.Minute)
	again = s.leaseOne() // b, whose lease ran out
	same(r, "data", string(again.Message.Data), "b")
	s.ack(again, ds[0])
	same(r, "acked", s.stats().Acked, 2)
	t.trim()
	same(r, "length", t.length(), 0)
}

func countsNowhere(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute))
	r.Clock.Advance(time.Second)
	same(r, "stats", s.stats(), subscriptions.Stats{})
	r.Clock.Advance(time.Minute)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 1})
}

func doesNotKeepTheLog(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("late", time.Hour), subscriptions.Message{Data: []byte("a")})
	s.ack(s.leaseOne())
	t.trim()
	same(r, "length", t.length(), 0)
	r.Clock.Advance(time.Hour)
	s.leases(10, "late")
}

func agesFromDue(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	t.publishAll(delayed("a", 30*time.Hour))
	r.Clock.Advance(30 * time.Hour)
	same(r, "age when it is due", s.stats().OldestAge, 0)
	r.Clock.Advance(time.Minute)
	same(r, "age", s.stats().OldestAge, time.Minute)
	s.nack(s.leaseOne())
	r.Clock.Advance(time.Hour)
	s.leases(10)
	same(r, "dropped", s.stats().Dropped, 1)
}

func tellsWhenDue(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("b", time.Hour), delayed("a", time.Minute), subscriptions.Message{Data: []byte("x")})
	result := s.leaseWith(s.request(10))
	same(r, "next due", result.NextDue, deadline) // of the lease
	s.ack(result.Deliveries...)
	same(r, "next due", s.leaseWith(s.request(10)).NextDue, time.Minute)
	r.Clock.Advance(2 * time.Minute)
	s.ack(s.leases(10, "a")...)
	result = s.leaseWith(s.request(10))
	same(r, "next due", result.NextDue, 58*time.Minute)
	same(r, "more", result.More, false)
}

func goesToWhoIsThere(r *rig) {
	t, before := r.one()
	t.publishAll(delayed("a", time.Minute))
	between := t.attach()
	before.drop()
	r.Clock.Advance(time.Hour) // nobody looks when it is due
	after := t.attach()
	between.leases(10, "a")
	after.leases(10)
}

func isDroppedForNobody(r *rig) {
	t := r.topic()
	t.publishAll(delayed("a", time.Minute))
	r.Clock.Advance(time.Hour)
	s := t.attach()
	s.leases(10)
	same(r, "length", t.length(), 0)
	same(r, "left", t.delayed(subscriptions.DelayedRequest{}).Count, 0)
}

func isRetainedForNobody(r *rig) {
	t := r.topic()
	t.ref.Revision, t.ref.Retention = 2, time.Hour
	r.ok(r.Store.OpenTopic(r.Context(), t.ref))
	t.publishAll(delayed("a", time.Minute))
	r.Clock.Advance(time.Minute)
	s := t.attach()
	s.leases(10)
	_, err := r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: r.Clock.Now().Add(-time.Hour)})
	r.ok(err)
	s.leases(10, "a")
}

func mixesDelays(r *rig) {
	t, s := r.one()
	ids := t.publishAll(delayed("b", 2*time.Second), subscriptions.Message{Data: []byte("x")}, delayed("a", time.Second),
		subscriptions.Message{Data: []byte("y")})
	got := s.leases(10, "x", "y")
	r.Clock.Advance(2 * time.Second)
	got = append(got, s.leases(10, "a", "b")...)
	for i, want := range []int{1, 3, 2, 0} {
		same(r, "id", got[i].Message.ID, ids[want])
	}
}

func seekLeavesDelayed(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute), subscriptions.Message{Data: []byte("x")})
	_, err := r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: r.Clock.Now().Add(time.Hour)})
	r.ok(err)
	s.leases(10)
	r.Clock.Advance(time.Minute)
	s.leases(10, "a")
}

func seekAcksDue(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute))
	r.Clock.Advance(time.Hour)
	_, err := r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: r.Clock.Now().Add(time.Second)})
	r.ok(err)
	s.leases(10)
}

func snapshotHasDueLater(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute), subscriptions.Message{Data: []byte("x")})
	s.ack(s.leaseOne())
	snap := s.snapshot()
	r.Clock.Advance(time.Minute)
	s.ack(s.leases(10, "a")...)
	s.restore(snap)
	s.leases(10, "a")
}

func closeDropsDelayed(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute), subscriptions.Message{Data: []byte("x")})
	r.ok(r.Store.CloseTopic(r.Context(), t.ref.UID))
	r.Clock.Advance(time.Hour)
	s.leases(10, "x")
	next, err := r.Store.AppendDue(r.Context(), t.ref.UID)
	r.ok(err)
	same(r, "next", next < 0, true)
}

func deadLetterIsNotDelayed(r *rig) {
	t, s := r.one()
	target := r.topic()
	reader := target.attach()
	s.rules.MaxAttempts = 1
	t.publishAll(delayed("a", time.Minute))
	r.Clock.Advance(time.Minute)
	s.nack(s.leaseOne())
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"a"})
	for range 2 { // a repeated move adds no copy
		r.ok(r.Store.AppendDead(r.Context(), target.ref, s.ref.Subscription, []subscriptions.Message{dead[0].Message}, day))
	}
	s.settle(dead...)
	same(r, "stats", s.stats().DeadLettered, 1)
	copied := reader.leaseOne()
	same(r, "the copy has the id of its place", copied.LogID, subscriptions.MessageID{})
	reader.ack(copied)
}

func filtersDelayed(r *rig) {
	t, s := r.one()
	s.match(`attributes.k = "v"`)
	yes, no := delayed("yes", time.Minute), delayed("no", time.Minute)
	yes.Attributes, no.Attributes = map[string]string{"k": "v"}, map[string]string{"k": "w"}
	t.publishAll(no, yes)
	s.leases(10)
	r.Clock.Advance(time.Minute)
	s.leases(10, "yes")
	same(r, "filtered", s.stats().Filtered, 1)
}

func appendsBounded(r *rig) {
	t, s := r.one()
	msgs := make([]subscriptions.Message, 250)
	for i := range msgs {
		msgs[i] = delayed(strconv.Itoa(i), time.Minute)
	}
	t.publishAll(msgs...)
	r.Clock.Advance(time.Minute)
	same(r, "undelivered at first", s.stats().Undelivered, 100)
	got := 0
	for more := true; more; {
		result := s.leaseWith(s.request(1000))
		got, more = got+len(result.Deliveries), result.More
		if more {
			same(r, "next due", result.NextDue, 0)
		}
	}
	same(r, "leased", got, 250)
}

func appendsFewLarge(r *rig) {
	t, s := r.one()
	for range 3 {
		m := delayed("", time.Minute)
		m.Data = make([]byte, 300_000)
		t.publishAll(m)
	}
	r.Clock.Advance(time.Minute)
	same(r, "undelivered at first", s.stats().Undelivered, 2)
	same(r, "undelivered then", s.stats().Undelivered, 3)
}

func appendsByItself(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute), delayed("b", time.Hour))
	next := func() time.Duration {
		d, err := r.Store.AppendDue(r.Context(), t.ref.UID)
		r.ok(err)
		return d
	}
	same(r, "next", next(), time.Minute)
	r.Clock.Advance(time.Minute)
	same(r, "next", next(), 59*time.Minute)
	same(r, "length", t.length(), 1)
	r.Clock.Advance(time.Hour)
	same(r, "age", s.stats().OldestAge, time.Hour)
	same(r, "next", next() < 0, true)
}

// dueInTopic is the wake-up that tells of a delayed message.
func dueInTopic(in time.Duration) subscriptions.Wake {
	return subscriptions.Wake{Kind: subscriptions.Due, In: in}
}

func wakesForEarlier(r *rig) {
	t, s := r.one()
	w := r.watch(t.ref.UID)
	t.publishAll(delayed("a", time.Minute), subscriptions.Message{Data: []byte("x")})
	w.brought(published, dueInTopic(time.Minute))
	t.publishAll(delayed("b", time.Hour))
	w.brought()
	t.publishAll(delayed("c", time.Second))
	w.brought(dueInTopic(time.Second))
	r.Clock.Advance(2 * time.Minute)
	s.stats()
	w.brought(published)
	s.stats()
	w.brought()
}

func wakesForDueAlone(r *rig) {
	t, _ := r.one()
	past := delayed("p", 0)
	past.Timing.DeliverAt = r.Clock.Now()
	w := r.watch(t.ref.UID)
	t.publishAll(delayed("a", time.Minute))
	w.brought(dueInTopic(time.Minute))
	t.publishAll(past)
	w.brought(published)
}
