package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

var leasing = []check{
	{"in order of the log, up to Max", leaseOrder},
	{"a leased message is not leased again", leaseOnce},
	{"nothing there", leaseNothing},
	{"what a delivery says", leaseDelivery},
	{"MaxBytes", leaseBytes},
	{"MaxBytes binds redeliveries", leaseBytesRedelivered},
	{"the Outstanding bound", leaseOutstanding},
	{"the Outstanding bound counts what waits and is dead", leaseOutstandingAll},
	{"redeliveries come first, in order of the log", leaseRedeliveriesFirst},
	{"the longest due is redelivered first", leaseLongestDue},
	{"redeliveries take half while there are new messages", leaseHalf},
	{"half is rounded up", leaseHalfOdd},
	{"no half without new messages", leaseNoHalf},
	{"of a lease of one both kinds have their turn", leaseHalfOfOne},
	{"More and NextDue", leaseMore},
	{"More when the bound hides new messages", leaseMoreBound},
	{"two subscriptions", leaseTwo},
	{"retention at the cursor", leaseRetention},
	{"retention of what waits", leaseRetentionWaiting},
}

func leaseOrder(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	t.publish("d")
	s.leases(2, "a", "b")
	s.leases(5, "c", "d")
}

func leaseOnce(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.leases(1, "a")
	s.leases(1)
	r.Clock.Advance(deadline - time.Millisecond)
	s.leases(1)
	r.Clock.Advance(time.Millisecond)
	s.leases(1, "a")
}

func leaseNothing(r *rig) {
	_, s := r.one()
	same(r, "result", s.leaseWith(s.request(10)), subscriptions.LeaseResult{NextDue: -1})
}

func leaseDelivery(r *rig) {
	t, s := r.one()
	id := t.publish("a")[0]
	d := s.leaseOne()
	same(r, "id", d.Message.ID, id)
	same(r, "publish time", d.Message.PublishTime(), r.Clock.Now())
	same(r, "number", d.Number, 1)
	same(r, "attempt", d.Attempt, 1)
	s.nack(d)
	d = s.leaseOne()
	same(r, "number", d.Number, 2)
	same(r, "attempt", d.Attempt, 2)
}

func leaseBytes(r *rig) {
	t, s := r.one()
	t.publish("12345", "12345", "12", "1")
	req := s.request(10)
	for _, step := range []struct {
		bytes int
		want  []string
	}{
		{0, []string{"12345"}}, // at least one
		{6, []string{"12345"}}, // the next does not fit
		{3, []string{"12", "1"}},
	} {
		req.MaxBytes = step.bytes
		result := s.leaseWith(req)
		same(r, "leased", data(result.Deliveries), step.want)
		same(r, "more", result.More, s.stats().Undelivered > 0)
	}
}

func leaseBytesRedelivered(r *rig) {
	t, s := r.one()
	t.publish("1", "22", "333")
	s.nack(s.lease(10)...)
	t.publish("4", "5")
	req := s.request(10)
	req.MaxBytes = 5
	// 1 and 22 fit and 333 does not; the rest is for new messages.
	same(r, "leased", data(s.leaseWith(req).Deliveries), []string{"1", "22", "4", "5"})
}

func leaseOutstanding(r *rig) {
	t, s := r.one()
	s.rules.Outstanding = 3
	t.publish("a", "b", "c", "d", "e")
	ds := s.leases(2, "a", "b")
	s.leases(2, "c")
	s.leases(2)
	s.ack(ds[0])
	s.leases(2, "d")
	s.nack(ds[1])
	s.leases(2, "b") // a redelivery is outstanding already
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Outstanding: 3, Bytes: 4, Acked: 1, Nacked: 1})
}

func leaseOutstandingAll(r *rig) {
	t, s := r.one()
	s.rules.Outstanding = 2
	s.rules.MaxAttempts = 1
	t.publish("a", "b", "c")
	ds := s.leases(2, "a", "b")
	s.nack(ds[0]) // dead
	s.rules.MaxAttempts = 0
	s.nackAtLeast(time.Minute, ds[1])
	s.leases(2)
	s.ack(ds[0])
	s.leases(2, "c")
}

func leaseRedeliveriesFirst(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	ds := s.leases(3, "a", "b", "c")
	t.publish("d")
	s.nack(ds[2])
	s.nack(ds[0])
	s.leases(10, "a", "c", "d")
}

func leaseLongestDue(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	ds := s.leases(3, "a", "b", "c")
	s.nackAtLeast(3*time.Second, ds[0])
	s.nackAtLeast(time.Second, ds[1])
	s.nackAtLeast(2*time.Second, ds[2])
	r.Clock.Advance(3 * time.Second)
	s.leases(2, "b", "c")
	s.leases(2, "a")
}

// nacked leaves n messages that are due and m new ones.
func nacked(r *rig, n, m int) *sub {
	t, s := r.one()
	for i := range n {
		t.publish(fmt.Sprint("old", i))
	}
	s.nack(s.lease(n)...)
	for i := range m {
		t.publish(fmt.Sprint("new", i))
	}
	return s
}

func leaseHalf(r *rig) {
	s := nacked(r, 4, 3)
	s.leases(4, "old0", "old1", "new0", "new1")
	s.leases(4, "old2", "old3", "new2")
}

func leaseHalfOdd(r *rig) {
	s := nacked(r, 4, 3)
	s.leases(3, "old0", "old1", "new0")
	s.leases(1, "old2")
	s.leases(1, "old3")
	s.leases(1, "new1")
}

func leaseNoHalf(r *rig) {
	s := nacked(r, 4, 0)
	s.leases(3, "old0", "old1", "old2")
}

func leaseMore(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	res := s.leaseWith(s.request(2))
	same(r, "more", res.More, true)
	same(r, "next due", res.NextDue, deadline)
	r.Clock.Advance(time.Second)
	s.nackAtLeast(4*time.Second, res.Deliveries[0])
	res = s.leaseWith(s.request(1)) // c
	same(r, "more", res.More, false)
	same(r, "next due", res.NextDue, 4*time.Second)
	r.Clock.Advance(5 * time.Second)
	res = s.leaseWith(s.request(1)) // a
	same(r, "more", res.More, false)
	same(r, "next due", res.NextDue, 4*time.Second) // b
	r.Clock.Advance(10 * time.Second)
	res = s.leaseWith(s.request(1))
	same(r, "more", res.More, true)
	same(r, "next due", res.NextDue, 0)
}

func leaseMoreBound(r *rig) {
	s := nacked(r, 4, 3)
	s.rules.Outstanding = 4
	res := s.leaseWith(s.request(4)) // half of them, and nothing new
	same(r, "leased", data(res.Deliveries), []string{"old0", "old1"})
	same(r, "more", res.More, true)
	res = s.leaseWith(s.request(4))
	same(r, "leased", data(res.Deliveries), []string{"old2", "old3"})
	same(r, "more", res.More, false)
}

func leaseTwo(r *rig) {
	t, s := r.one()
	other := t.attach()
	t.publish("a", "b")
	s.nack(s.leases(10, "a", "b")...)
	d := other.leases(1, "a")
	other.ack(d...)
	s.leases(10, "a", "b")
	other.leases(10, "b")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Bytes: 2, Nacked: 2})
	same(r, "stats", other.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1, Acked: 1})
}

func leaseRetention(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	t.publish("a", "bb")
	r.Clock.Advance(time.Second)
	t.publish("ccc")
	r.Clock.Advance(time.Hour) // c is exactly as old as may be
	s.leases(1, "ccc")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 3, OldestAge: time.Hour, Dropped: 2})
	t.publish("d")
	r.Clock.Advance(time.Hour + time.Millisecond)
	s.leases(10)
	same(r, "stats", s.stats(), subscriptions.Stats{Dropped: 4, Expired: 1})
}

func leaseRetentionWaiting(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	t.publish("a")
	r.Clock.Advance(time.Minute)
	t.publish("b")
	s.nackAtLeast(10*time.Minute, s.lease(10)...)
	r.Clock.Advance(time.Hour - time.Second)
	s.leases(1, "b") // a is not counted towards Max
	same(r, "stats", s.stats(), subscriptions.Stats{
		Outstanding: 1, Bytes: 1, OldestAge: time.Hour - time.Second, Nacked: 2, Dropped: 1,
	})
}

func leaseHalfOfOne(r *rig) {
	s := nacked(r, 2, 1)
	req := s.request(1)
	req.Jitter = 0.5
	same(r, "leased", data(s.leaseWith(req).Deliveries), []string{"new0"})
	same(r, "leased", data(s.leaseWith(req).Deliveries), []string{"old0"}) // there is nothing new
	s.topic().publish("new1")
	req.Jitter = 0.49
	same(r, "leased", data(s.leaseWith(req).Deliveries), []string{"old1"})
	s = nacked(r, 1, 1)
	s.rules.Outstanding = 1
	req = s.request(1)
	req.Jitter = 0.5
	same(r, "leased at the bound", data(s.leaseWith(req).Deliveries), []string{"old0"})
}
