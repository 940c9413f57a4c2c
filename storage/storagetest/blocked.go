package storagetest

import (
	"fmt"
	"strings"
	"time"

	"postrider/subscriptions"
)

var blocking = []check{
	{"a head that failed", blockedNack},
	{"a head whose lease ran out", blockedExpiry},
	{"since the first failure, for the last reason", blockedAgain},
	{"what is leased for the first time blocks nothing", blockedNot},
	{"what has no key blocks nothing", blockedNoKey},
	{"a follower that failed, until it leads", blockedFollower},
	{"a dead head", blockedDead},
	{"what was left in the log waits, too", blockedOverflow},
	{"a key whose head went", blockedFreed},
	{"one key", blockedOne},
	{"pages", blockedPages},
	{"a page begins behind what has gone", blockedPagesGone},
	{"a head that vanished", blockedVanished},
	{"a head is seized, whatever its state", seizeAny},
	{"what is seized is held", seizeHeld},
	{"what is gone, or follows, is not seized", seizeNot},
	{"what was seized and forgotten lives again, before what follows", seizeRevived},
}

// blockedBy reads all blocked keys, a page of so many at a time.
func (s *sub) blockedBy(size int) (all []subscriptions.Block) {
	s.Helper()
	for r := (subscriptions.BlocksRequest{Ref: s.ref, Max: size}); ; {
		page, err := s.Store.Blocked(s.Context(), r)
		s.ok(err)
		all = append(all, page.Blocks...)
		if r.After = page.Next; !page.More {
			return all
		}
	}
}

// blocks checks which messages block their keys, in order.
func (s *sub) blocks(want ...string) []subscriptions.Block {
	s.Helper()
	all := s.blockedBy(100)
	var heads []string
	for _, b := range all {
		heads = append(heads, string(b.Head.Message.Data))
	}
	same(s.rig, "blocked", strings.Join(heads, " "), strings.Join(want, " "))
	return all
}

// refuse nacks for a reason.
func (s *sub) refuse(reason string, ds ...subscriptions.Delivery) {
	s.Helper()
	s.fail(subscriptions.Failure{Reason: reason}, ds...)
}

func blockedNack(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Minute)
	t.send("a1", "a2", "a3", "b1")
	ds := s.leasesRun(1, "a1", "b1")
	s.ack(ds[1])
	s.refuse("503 Service Unavailable", ds[0])
	r.Clock.Advance(7 * time.Second)
	b := s.blocks("a1")[0]
	same(r, "head", b.Head.Message.OrderingKey, "a")
	same(r, "receipt", b.Head.Receipt(), ds[0].Receipt())
	now := r.Clock.Now().UTC()
	failed := subscriptions.Attempt{Number: 1, Time: now.Add(-7 * time.Second), Failure: subscriptions.Failure{Reason: "503 Service Unavailable"}}
	b.Head = subscriptions.Delivery{Attempt: b.Head.Attempt, Failed: b.Head.Failed}
	same(r, "block", fmt.Sprintf("%+v", b), fmt.Sprintf("%+v", subscriptions.Block{
		Head:  subscriptions.Delivery{Attempt: 1, Failed: []subscriptions.Attempt{failed}},
		Since: failed.Time, State: subscriptions.BlockWaiting, Next: now.Add(53 * time.Second), Behind: 2,
	}))
}

// agoIs checks how long ago a time is, by the store's clock.
func (r *rig) agoIs(what string, at time.Time, want time.Duration) {
	r.Helper()
	same(r, what, r.Clock.Now().Sub(at).Round(time.Millisecond), want)
}

func blockedExpiry(r *rig) {
	t, s := r.ordered()
	t.send("a1")
	s.leasesRun(1, "a1")
	r.Clock.Advance(deadline + 3*time.Second)
	s.blocks() // nobody noticed yet
	s.leasesRun(1, "a1")
	b := s.blocks("a1")[0]
	r.agoIs("since", b.Since, 3*time.Second)
	same(r, "reason", b.Head.Failed[0].Reason, subscriptions.ReasonExpired)
	same(r, "state", b.State, subscriptions.BlockTried)
	r.agoIs("next", b.Next, -deadline)
	same(r, "behind", b.Behind, int64(0))
}

func blockedAgain(r *rig) {
	t, s := r.ordered()
	t.send("a1")
	s.refuse("first", s.leasesRun(1, "a1")...)
	r.Clock.Advance(5 * time.Second)
	s.refuse("", s.leasesRun(1, "a1")...)
	r.Clock.Advance(2 * time.Second)
	b := s.blocks("a1")[0]
	r.agoIs("since", b.Since, 7*time.Second)
	r.agoIs("failed", b.Head.Failed[0].Time, 2*time.Second)
	same(r, "reason", b.Head.Failed[0].Reason, subscriptions.ReasonRefused)
	same(r, "attempts", b.Head.Attempt, 2)
}

func blockedNot(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2")
	ds := s.leasesRun(1, "a1")
	r.Clock.Advance(time.Second)
	s.blocks()
	s.release(ds...)
	s.blocks()
}

func blockedNoKey(r *rig) {
	t, s := r.ordered()
	t.send("-1", "-2")
	s.refuse("no", s.lease(10)...)
	s.blocks()
}

func blockedFollower(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Minute)
	t.send("a1", "a2")
	ds := s.leasesRun(2, "a1", "a2")
	s.refuse("early", ds[1])
	s.blocks()
	s.ack(ds[0])
	b := s.blocks("a2")[0]
	same(r, "reason", b.Head.Failed[0].Reason, "early")
}

func blockedDead(r *rig) {
	t, s := r.ordered()
	s.rules.MaxAttempts = 1
	t.send("a1", "a2")
	s.refuse("the last", s.leasesRun(1, "a1")...)
	b := s.blocks("a1")[0]
	same(r, "state", b.State, subscriptions.BlockDead)
	s.settle(s.sweep(10).Dead...)
	s.blocks()
}

func blockedOverflow(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a1", "a2", "a3", "a4", "a5", "a6")
	ds := s.leasesRun(1, "a1")
	s.leasesRun(1)
	s.refuse("no", ds...)
	same(r, "behind", s.blocks("a1")[0].Behind, int64(5))
}

func blockedFreed(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2")
	s.refuse("no", s.leasesRun(1, "a1")...)
	s.ack(s.leasesRun(1, "a1")...)
	s.blocks()
	s.refuse("no", s.leasesRun(1, "a2")...)
	s.blocks("a2")
}

func blockedOne(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Minute)
	t.send("a1", "b1", "a2", "c1")
	ds := s.leasesRun(1, "a1", "b1", "c1")
	s.refuse("no", ds[:2]...)
	for _, d := range ds {
		got, err := r.Store.Blocked(r.Context(), subscriptions.BlocksRequest{Ref: s.ref, Key: d.Key, Max: 10})
		r.ok(err)
		want := 1
		if d.Message.OrderingKey == "c" {
			want = 0
		}
		same(r, "blocks", len(got.Blocks), want)
		for _, b := range got.Blocks {
			same(r, "head", b.Head.Message.ID, d.Message.ID)
		}
	}
}

func blockedPages(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Hour)
	var want []string
	for _, key := range strings.Split("abcdefghijklm", "") {
		t.send(key + "1")
		want = append(want, key+"1")
	}
	for i, d := range s.lease(100) {
		s.refuse("no", d)
		if i%3 == 0 { // some at the same moment
			r.Clock.Advance(time.Second)
		}
	}
	s.blocks(want...)
	for size := range 5 {
		same(r, fmt.Sprintf("in pages of %d", size+1), len(s.blockedBy(size+1)), len(want))
	}
}

func blockedPagesGone(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Hour)
	t.send("a1", "b1", "c1", "d1")
	for _, d := range s.lease(100) {
		s.refuse("no", d)
		r.Clock.Advance(time.Second)
	}
	page, err := r.Store.Blocked(r.Context(), subscriptions.BlocksRequest{Ref: s.ref, Max: 2})
	r.ok(err)
	same(r, "more", page.More, true)
	s.ack(page.Blocks[1].Head) // a late ack of what waits
	page, err = r.Store.Blocked(r.Context(), subscriptions.BlocksRequest{Ref: s.ref, Max: 2, After: page.Next})
	r.ok(err)
	same(r, "heads", string(page.Blocks[0].Head.Message.Data)+string(page.Blocks[1].Head.Message.Data), "c1d1")
	same(r, "more", page.More, false)
}

func blockedVanished(r *rig) {
	t, s := r.ordered()
	ids := t.send("a1", "b1")
	s.refuse("no", s.leasesRun(1, "a1", "b1")...)
	t.vanish(ids[0])
	s.blocks("b1")
}

// seizes checks whether a message can be seized.
func (s *sub) seizes(d subscriptions.Delivery, want bool) {
	s.Helper()
	got, err := s.Store.Seize(s.Context(), s.ref, d.Receipt(), hold)
	s.ok(err)
	same(s.rig, "seized "+string(d.Message.Data), got, want)
}

func seizeAny(r *rig) {
	t, s := r.ordered()
	t.send("a1", "b1", "a2", "-1")
	ds := s.leasesRun(1, "a1", "b1", "-1")
	s.rules.Retry = fixed(time.Minute)
	s.refuse("no", ds[1])
	for _, d := range ds {
		s.seizes(d, true)
	}
	same(r, "dead", s.stats().Dead, int64(3))
	s.confirm(ds[:1], ds[:1], nil)
	s.leasesRun(1)
	s.settle(ds[0])
	s.ack(ds[1], ds[2])
	s.ack(s.leasesRun(1, "a2")...)
	got := s.stats()
	same(r, "stats", got, subscriptions.Stats{Acked: 3, Nacked: 1, DeadLettered: 1})
}

func seizeHeld(r *rig) {
	t, s := r.ordered()
	s.rules.MaxAttempts = 1
	t.send("a1")
	ds := s.leasesRun(1, "a1")
	s.seizes(ds[0], true)
	s.seizes(ds[0], false)
	same(r, "swept", len(s.sweep(10).Dead), 0)
	r.Clock.Advance(hold)
	s.seizes(ds[0], true)
	r.Clock.Advance(hold)
	same(r, "swept", len(s.sweep(10).Dead), 1)
	s.seizes(ds[0], false)
}

func seizeNot(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2")
	ds := s.leasesRun(2, "a1", "a2")
	s.seizes(ds[1], false)
	s.ack(ds[0])
	s.seizes(ds[0], false)
	other := ds[1]
	other.Epoch++
	s.seizes(other, false)
	s.seizes(ds[1], true)
}

func seizeRevived(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "a3")
	ds := s.leasesRun(3, "a1", "a2", "a3")
	s.ack(ds[1])
	s.seizes(ds[0], true)
	r.Clock.Advance(hold)
	s.sweep(10)
	s.ack(s.leasesRun(3, "a1", "a2", "a3")...)
	same(r, "outstanding", s.stats().Outstanding, int64(0))
}
