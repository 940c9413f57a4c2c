package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

var removing = []check{
	{"messages are removed, whatever their state", removeAny},
	{"messages are removed ahead of the cursor", removeAhead},
	{"what a key left in the log is not removed", removeLeft},
	{"what a topic without subscriptions keeps", discardKept},
}

// remove removes of what is shown those with the data, and returns what could not be. Of two that do the same only one takes it.
func (s *sub) remove(data ...string) (left []subscriptions.Receipt) {
	s.Helper()
	request := subscriptions.RemoveRequest{Ref: s.ref, Rules: s.rules}
	for _, p := range s.peekBy(100) {
		for _, d := range data {
			if string(p.Message.Data) == d {
				request.Receipts = append(request.Receipts, p.Receipt())
			}
		}
	}
	same(s.rig, "found", len(request.Receipts), len(data))
	first, err := s.Store.Remove(s.Context(), request)
	s.ok(err)
	again, err := s.Store.Remove(s.Context(), request)
	s.ok(err)
	for i, fate := range first {
		expected := map[subscriptions.RemoveFate]subscriptions.RemoveFate{
			subscriptions.RemoveTaken: subscriptions.RemoveGone, subscriptions.RemoveLeft: subscriptions.RemoveLeft,
		}[fate]
		same(s.rig, "fate of a repeated removal", again[i], expected)
		if fate == subscriptions.RemoveLeft {
			left = append(left, request.Receipts[i])
		}
	}
	return left
}

func removeAny(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Minute)
	t.send("a1", "a2", "a3", "b1", "b2", "c1", "c2")
	ds := s.leasesRun(1, "a1", "b1", "c1")
	s.nack(ds[1])
	s.rules.MaxAttempts = 1
	s.nack(ds[2])
	same(r, "left", len(s.remove("a2", "b1", "c1")), 0)
	s.rules.MaxAttempts = 0
	s.leasesRun(1, "b2", "c2")
	s.remove("a1")
	s.leasesRun(1, "a3")
	stats := s.stats()
	same(r, "stats", fmt.Sprint(stats.Outstanding, stats.Acked, stats.Bytes), "3 4 9")
}

func removeAhead(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c", "d", "e")
	s.remove("b", "d")
	s.shows("a new 0", "c new 0", "e new 0")
	stats := s.stats()
	same(r, "stats", fmt.Sprint(stats.Undelivered, stats.Outstanding, stats.Acked, stats.Bytes), "3 0 2 3")
	s.leases(1, "a")
	s.remove("c")
	s.leases(10, "e")
}

func removeLeft(r *rig) {
	t, s := r.ordered()
	s.rules.Outstanding = 4
	t.send("a1", "a2", "a3", "a4", "b1")
	s.leasesRun(1, "a1", "b1")
	same(r, "left", len(s.remove("a2", "a4")), 1)
	s.shows("a1 leased 1", "a3 parked 0", "b1 leased 1", "a4 new 0")
}

func discardKept(r *rig) {
	t := r.topic()
	r.ok(r.Store.AppendDead(r.Context(), t.ref, "source", []subscriptions.Message{
		{ID: subscriptions.NewMessageID(1, 1, 1), Data: []byte("a")}, {ID: subscriptions.NewMessageID(1, 2, 1), Data: []byte("b")},
	}, time.Hour))
	log, err := r.Store.PeekLog(r.Context(), t.ref.UID, subscriptions.MessageID{}, 10)
	r.ok(err)
	ids := []subscriptions.MessageID{log.Messages[0].Message.ID, subscriptions.NewMessageID(7, 7, 7)}
	for _, first := range []subscriptions.RemoveFate{subscriptions.RemoveTaken, subscriptions.RemoveGone} {
		fates, err := r.Store.Discard(r.Context(), t.ref.UID, ids)
		r.ok(err)
		same(r, "fates", fates, []subscriptions.RemoveFate{first, subscriptions.RemoveGone})
	}
	log, err = r.Store.PeekLog(r.Context(), t.ref.UID, subscriptions.MessageID{}, 10)
	r.ok(err)
	same(r, "left", len(log.Messages), 1)
	t.attach()
	fates, err := r.Store.Discard(r.Context(), t.ref.UID, []subscriptions.MessageID{log.Messages[0].Message.ID})
	r.ok(err)
	same(r, "fates", fates, []subscriptions.RemoveFate{subscriptions.RemoveLeft})
	_, err = r.Store.Discard(r.Context(), unique("t"), ids)
	r.is(err, subscriptions.ErrGone)
}
