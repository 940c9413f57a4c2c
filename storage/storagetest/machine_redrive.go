package storagetest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"postrider/subscriptions"
)

// redrive puts messages back that were delivered some time, whatever became of them, as an operation does with dead letters.
func (m *machine) redrive() {
	s := m.anySub()
	r := subscriptions.RedriveRequest{Ref: s.ref, Rules: s.rules, KeepLeases: rapid.Bool().Draw(m.T, "keep leases")}
	for _, receipt := range m.receipts(s) {
		r.Letters = append(r.Letters, subscriptions.RedriveLetter{
			Message: s.bodies[receipt.ID], Place: receipt.ID, Topic: m.topics[1].ref.UID, ID: subscriptions.NewMessageID(1, int64(rapid.IntRange(1, 20).Draw(m.T, "letter")), 1),
		})
	}
	// To die and be redriven takes longer than so many deliveries as there are milliseconds: their numbers begin at that of a redrive.
	for _, side := range m.sides {
		side.Clock.Advance(time.Second)
	}
	m.latest = max(m.latest, m.now())
	before := m.stats(s)
	fates := must(m, "redrive", func(store subscriptions.Store) ([]subscriptions.RedriveFate, error) { return store.Redrive(ctx, r) })
	after := m.stats(s)
	back := after.Outstanding + after.Undelivered - before.Outstanding - before.Undelivered
	s.settled, s.redriven = s.settled-back, s.redriven+back
	if back < 0 || after.Undelivered != before.Undelivered && !s.rules.Ordered || after.Outstanding > max(before.Outstanding, int64(s.rules.Outstanding)) {
		m.Fatalf("redriving %d made %+v of %+v", len(r.Letters), after, before)
	}
	for i, l := range r.Letters {
		id := l.PlaceID()
		if delete(s.final, id); back > 0 {
			s.back[id] = m.now()
			s.topic.lives[id] = append(s.topic.lives[id], m.now())
		}
		msg := s.messages[id]
		if back > 0 && fates[i] == subscriptions.RedriveThere && msg != nil && (msg.gone || m.shows(s, id, m.now())) { // and was not there before
			*msg = modelMessage{number: m.now(), released: m.now(), since: m.now()}
		}
	}
	if rapid.Bool().Draw(m.T, "forget") {
		after := time.Duration(0)
		if rapid.Bool().Draw(m.T, "after a while") {
			after = drawSpell(m.T)
		}
		m.do("forget redriven", func(store subscriptions.Store) error { return store.ForgetRedriven(ctx, s.ref.Topic, r.Letters, after) })
	}
}

// shows tells whether a message stands there with a delivery number.
func (m *machine) shows(s *modelSub, id subscriptions.MessageID, number int64) bool {
	for _, p := range m.peeked(s, 300) {
		if p.Place() == id {
			return p.Number == number
		}
	}
	return false
}

// remove takes some of what is unacked.
func (m *machine) remove() {
	s := m.anySub()
	all := m.peeked(s, 300)
	if len(all) == 0 {
		m.Skip("nothing is unacked")
	}
	from := rapid.IntRange(0, len(all)-1).Draw(m.T, "from")
	some := all[from:min(len(all), from+rapid.IntRange(1, 5).Draw(m.T, "how many"))]
	r := subscriptions.RemoveRequest{Ref: s.ref, Rules: s.rules}
	for _, p := range some {
		r.Receipts = append(r.Receipts, p.Receipt())
	}
	fates := must(m, "remove", func(store subscriptions.Store) ([]subscriptions.RemoveFate, error) { return store.Remove(ctx, r) })
	for _, p := range m.peeked(s, 300) {
		if i := slices.Index(r.Receipts, p.Receipt()); i >= 0 && fates[i] != subscriptions.RemoveLeft {
			m.Fatalf("%s was removed, and is there", p.Message.ID)
		}
	}
	again := must(m, "remove again", func(store subscriptions.Store) ([]subscriptions.RemoveFate, error) { return store.Remove(ctx, r) })
	if slices.Contains(again, subscriptions.RemoveTaken) {
		m.Fatalf("what was removed as %v was removed a second time: %v", fates, again)
	}
	for _, p := range some {
		if s.messages[p.Place()] == nil {
			s.messages[p.Place()] = &modelMessage{}
		}
	}
	s.gone(r.Receipts)
}

// backSince tells whether a message was put back since a delivery.
func (s *modelSub) backSince(r subscriptions.Receipt) bool {
	msg := s.messages[r.ID]
	return msg != nil && r.Number < msg.since && msg.number >= msg.since
}

// peek compares what is unacked, in pages of any size.
func (m *machine) peek() {
	s := m.anySub()
	m.peeked(s, rapid.SampledFrom([]int{1, 2, 5, 300}).Draw(m.T, "page size"))
}

// peeked is what a subscription shows, a page of so many at a time.
func (m *machine) peeked(s *modelSub, size int) []subscriptions.Peeked {
	return must(m, "peek", func(store subscriptions.Store) (all []subscriptions.Peeked, err error) {
		r := subscriptions.PeekRequest{Ref: s.ref, Rules: s.rules, Max: size}
		for more := true; more && err == nil; {
			var page subscriptions.PeekResult
			page, err = store.Peek(ctx, r)
			all = append(all, page.Messages...)
			more, r.After = page.More, page.Next
		}
		return all, err
	})
}
