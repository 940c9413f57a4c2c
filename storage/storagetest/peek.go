package storagetest

import (
	"fmt"
	"strings"
	"time"

	"postrider/subscriptions"
)

var peeking = []check{
	{"nothing is leased by it", peekLeasesNothing},
	{"every state", peekStates},
	{"pages of any size", peekPages},
	{"what is too old is not shown", peekOld},
	{"what was acked provisionally is not shown", peekProvisional},
	{"only what matches", peekMatch},
	{"what was left in the log", peekLeft},
	{"after a seek", peekSought},
	{"from an id that no message has", peekFrom},
	{"a log without subscriptions", peekLog},
	{"where the log ends", peekEnd},
}

// peekBy reads all unacked messages, a page of so many at a time.
func (s *sub) peekBy(size int) (all []subscriptions.Peeked) {
	s.Helper()
	for r := (subscriptions.PeekRequest{Ref: s.ref, Rules: s.rules, Max: size}); ; {
		page, err := s.Store.Peek(s.Context(), r)
		s.ok(err)
		all = append(all, page.Messages...)
		if r.After = page.Next; !page.More {
			return all
		}
	}
}

var stateNames = map[subscriptions.PeekState]string{
	subscriptions.PeekNew: "new", subscriptions.PeekLeased: "leased", subscriptions.PeekWaiting: "waiting",
	subscriptions.PeekParked: "parked", subscriptions.PeekDead: "dead",
}

// shows checks what a subscription has unacked: of each message its data, state and attempt.
func (s *sub) shows(want ...string) []subscriptions.Peeked {
	s.Helper()
	all := s.peekBy(100)
	var got []string
	for _, p := range all {
		got = append(got, fmt.Sprintf("%s %s %d", p.Message.Data, stateNames[p.State], p.Attempt))
	}
	same(s.rig, "peeked", strings.Join(got, ", "), strings.Join(want, ", "))
	return all
}

func peekLeasesNothing(r *rig) {
	t, s := r.one()
	id := t.publish("a", "b")[0]
	before := s.stats()
	p := s.shows("a new 0", "b new 0")[0]
	same(r, "id", p.Message.ID, id)
	same(r, "delivery", p.Number, 0)
	same(r, "stats", s.stats(), before)
	same(r, "attempt", s.leases(10, "a", "b")[0].Attempt, 1)
}

func peekStates(r *rig) {
	t, s := r.ordered()
	s.rules.MaxAttempts = 2
	s.rules.Retry = fixed(time.Minute)
	t.send("a1", "a2", "b1", "c1", "d1")
	ds := s.leasesRun(1, "a1", "b1", "c1", "d1")
	s.refuse("503 Service Unavailable", ds[0])
	s.refuse("no", ds[1])
	s.ack(ds[3])
	s.extend(time.Hour, ds[2])
	r.Clock.Advance(time.Minute)
	again := s.leasesRun(1, "a1", "b1")
	s.refuse("503 again", again[0])
	r.Clock.Advance(7 * time.Second)
	t.send("e1")
	all := s.shows("a1 dead 2", "a2 parked 0", "b1 leased 2", "c1 leased 1", "e1 new 0")
	same(r, "attempts kept", len(all[0].Failed), 2)
	same(r, "why", all[0].Failed[0].Reason, "503 again")
	same(r, "since", all[0].Failed[0].Time, r.Clock.Now().Add(-7*time.Second))
	same(r, "ends", all[2].Next, r.Clock.Now().Add(deadline-7*time.Second))
	same(r, "receipt", all[2].Receipt(), again[1].Receipt())
	same(r, "no failures", len(all[4].Failed), 0)
	s.refuse("once", ds[2])
	same(r, "wait", s.shows("a1 dead 2", "a2 parked 0", "b1 leased 2", "c1 waiting 1", "e1 new 0")[3].Next, r.Clock.Now().Add(time.Minute))
}

func peekPages(r *rig) {
	t, s := r.one()
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprint(i))
		t.publish(want[i])
	}
	s.release(s.lease(3)...)
	s.lease(1)
	for size := 1; size <= 8; size++ {
		var got []string
		for _, p := range s.peekBy(size) {
			got = append(got, string(p.Message.Data))
		}
		same(r, fmt.Sprint("pages of ", size), got, want)
	}
}

func peekOld(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	t.publish("old", "older")
	s.lease(1)
	r.Clock.Advance(time.Hour + time.Millisecond)
	t.publish("young")
	s.shows("young new 0")
}

func peekProvisional(r *rig) {
	t, s := r.ordered()
	t.send("a1", "a2", "a3")
	ds := s.leasesRun(3, "a1", "a2", "a3")
	s.ack(ds[1])
	s.shows("a1 leased 1", "a3 leased 1")
}

func peekMatch(r *rig) {
	t, s := r.one()
	m, err := subscriptions.NewMatch(`attributes:k`, nil)
	r.ok(err)
	s.rules.Match = m
	t.publishAll(
		subscriptions.Message{Data: []byte("no")},
		subscriptions.Message{Data: []byte("yes"), Attributes: map[string]string{"k": "v"}},
		subscriptions.Message{Data: []byte("no")},
	)
	s.shows("yes new 0")
	s.leases(1, "yes")
	s.shows("yes leased 1")
}

func peekLeft(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a1", "a2", "a3", "a4", "b1", "a5", "c1")
	s.leasesRun(1, "a1", "b1")
	for size := 1; size <= 8; size++ {
		var got []string
		for _, p := range s.peekBy(size) {
			got = append(got, string(p.Message.Data))
		}
		// a4 and a5 were left in the log, for the sake of other keys; of the rest, what was outstanding comes first.
		same(r, fmt.Sprint("pages of ", size), got, []string{"a1", "a2", "a3", "b1", "a4", "a5", "c1"})
	}
}

func peekSought(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	r.Clock.Advance(time.Second)
	now := r.Clock.Now()
	t.publish("d", "e")
	s.lease(4)
	_, err := r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Time: now})
	r.ok(err)
	s.shows("d new 0", "e new 0")
	s.leases(1, "d")
	s.shows("d leased 1", "e new 0")
}

func peekFrom(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	r.Clock.Advance(time.Second)
	t.publish("c", "d")
	after := subscriptions.MessageID{Milli: r.Clock.Now().UnixMilli() - 1, Seq: 9_999_999_999_999_999}
	for _, part := range []subscriptions.PeekPart{subscriptions.PeekAhead, subscriptions.PeekBehind} {
		if part == subscriptions.PeekBehind {
			s.lease(4)
		}
		page, err := s.Store.Peek(r.Context(), subscriptions.PeekRequest{
			Ref: s.ref, Rules: s.rules, After: subscriptions.PeekPlace{Part: part, ID: after}, Max: 10,
		})
		r.ok(err)
		if len(page.Messages) != 2 || string(page.Messages[0].Message.Data) != "c" {
			r.Fatalf("part %d: %+v", part, page.Messages)
		}
	}
}

func peekLog(r *rig) {
	t := r.topic()
	look := func(after subscriptions.MessageID, limit int) subscriptions.PeekResult {
		result, err := r.Store.PeekLog(r.Context(), t.ref.UID, after, limit)
		r.ok(err)
		return result
	}
	same(r, "messages", len(look(subscriptions.MessageID{}, 10).Messages), 0)
	r.ok(r.Store.AppendDead(r.Context(), t.ref, "source", []subscriptions.Message{
		{ID: subscriptions.NewMessageID(1, 1, 1), Data: []byte("a")}, {ID: subscriptions.NewMessageID(1, 2, 1), Data: []byte("b")},
	}, time.Hour))
	first := look(subscriptions.MessageID{}, 1)
	same(r, "first", string(first.Messages[0].Message.Data), "a")
	same(r, "more", first.More, true)
	second := look(first.Next.ID, 10)
	same(r, "second", string(second.Messages[0].Message.Data), "b")
	same(r, "more", second.More, false)
	same(r, "of both", len(look(subscriptions.MessageID{}, 10).Messages), 2)
	same(r, "of nothing", len(look(second.Messages[0].Message.ID, 10).Messages), 0)
	result, err := r.Store.PeekLog(r.Context(), unique("none"), subscriptions.MessageID{}, 10)
	r.ok(err)
	same(r, "of no topic", len(result.Messages), 0)
}

func peekEnd(r *rig) {
	t, s := r.one()
	id := t.publish("a")[0]
	page, err := s.Store.Peek(r.Context(), subscriptions.PeekRequest{Ref: s.ref, Rules: s.rules, Max: 1})
	r.ok(err)
	log, err := s.Store.PeekLog(r.Context(), t.ref.UID, id, 1)
	r.ok(err)
	same(r, "end", log.End, page.End)
	r.Clock.Advance(-time.Hour)
	next := t.publish("b")[0]
	if id.Compare(page.End) > 0 || next.Compare(page.End) <= 0 {
		r.Fatalf("the log with %s is said to end at %s, and then comes %s", id, page.End, next)
	}
}
