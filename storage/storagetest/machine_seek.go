package storagetest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"postrider/subscriptions"
)

// modelSnap is a snapshot, and what may not be delivered after a seek to it.
type modelSnap struct {
	ref     subscriptions.SnapshotRef
	ordered bool
	of      *modelSub
	n       int64 // how many messages the topic had
	gone    map[subscriptions.MessageID]bool
}

// seek seeks to some time, mostly one at which something was published.
func (m *machine) seek() {
	s := m.anySub()
	back := rapid.SampledFrom([]int64{0, 1, 1000, 5000, 20_000, 60_000, 600_000, 3_600_000, -5000}).Draw(m.T, "back")
	milli := m.now() - back - rapid.Int64Range(0, 500).Draw(m.T, "more")
	if len(s.handed) > 0 && rapid.Bool().Draw(m.T, "known") {
		milli = s.handed[rapid.IntRange(0, len(s.handed)-1).Draw(m.T, "any")].ID.Milli
	}
	milli = max(milli, s.raised, s.topic.raised)
	retained := s.topic.ref.Retention > 0 || s.ref.Retain > 0 || s.rules.Ordered
	m.seekTo(s, subscriptions.SeekRequest{Time: time.UnixMilli(milli)}, s.rules.Ordered, func(id subscriptions.MessageID, gone bool) bool {
		return id.Milli >= milli && (!gone || retained)
	})
}

// seekTo seeks and notes which messages may come from then on. Of what keys left in the log no store need know how much a seek
// changes.
func (m *machine) seekTo(s *modelSub, r subscriptions.SeekRequest, loosely bool, may func(id subscriptions.MessageID, gone bool) bool) {
	m.Helper()
	before := m.stats(s)
	r.Ref = s.ref
	r.ValidateOnly = true
	would := must(m, "would seek", func(store subscriptions.Store) (subscriptions.SeekResult, error) {
		would, err := store.Seek(ctx, r)
		if loosely {
			would.Unacked, would.Acked = 0, 0
		}
		return would, err
	})
	r.ValidateOnly = false
	must(m, "seek", func(store subscriptions.Store) (subscriptions.SeekResult, error) { return store.Seek(ctx, r) })
	after := m.stats(s)
	unacked := after.Undelivered + after.Outstanding
	if change := unacked - before.Undelivered - before.Outstanding; !loosely && change != would.Unacked-would.Acked {
		m.Fatalf("a seek that was to change %+v changed %d", would, change)
	}
	if after.Outstanding+after.Dead+after.Parked > 0 {
		m.Fatalf("something is outstanding after a seek: %+v", after)
	}
	s.settled = s.topic.n - unacked - after.Acked - after.Dropped - after.Late - after.Lost - after.DeadLettered - after.Filtered
	s.from, s.epoch = 0, s.epoch+1
	for id, msg := range s.messages {
		*msg = modelMessage{gone: !may(id, msg.gone), since: msg.since}
	}
	for id := range s.final {
		if may(id, true) {
			delete(s.final, id)
		}
	}
}

func (m *machine) snapshot() {
	s := m.anySub()
	if len(s.topic.snaps) >= 3 {
		m.Skip("enough snapshots")
	}
	id := unique("n")
	n := &modelSnap{
		ref: subscriptions.SnapshotRef{Topic: s.ref.Topic, Snapshot: id, Revision: 1}, ordered: s.rules.Ordered, of: s, n: s.topic.n,
		gone: map[subscriptions.MessageID]bool{},
	}
	_, err := both(m, "snapshot", func(store subscriptions.Store) (time.Time, error) {
		return store.TakeSnapshot(ctx, s.ref, n.ref, subscriptions.SnapshotName{Project: "p", ID: id})
	})
	if subscriptions.CodeOf(err) == subscriptions.FailedPrecondition {
		return
	}
	if err != nil {
		m.Fatal(err)
	}
	for id, msg := range s.messages {
		if msg.gone {
			n.gone[id] = true
		}
	}
	s.topic.snaps = append(s.topic.snaps, n)
}

// anySnapshot picks a snapshot of a subscription's topic.
func (m *machine) anySnapshot(t *modelTopic) int {
	if len(t.snaps) == 0 {
		m.Skip("there is no snapshot")
	}
	return rapid.IntRange(0, len(t.snaps)-1).Draw(m.T, "snapshot")
}

func (m *machine) restore() {
	s := m.anySub()
	n := s.topic.snaps[m.anySnapshot(s.topic)]
	if n.ordered && !s.rules.Ordered || s.rules.Match != nil && n.of != s {
		m.Skip("the model does not know what is in order, or selected, there")
	}
	r := subscriptions.SeekRequest{Ref: s.ref, Snapshot: n.ref.Snapshot, ValidateOnly: true}
	loosely := s.rules.Ordered
	for i, side := range m.sides { // it may have expired
		if _, err := side.Store.Seek(ctx, r); err != nil {
			m.Logf("store %d: %v", i, err)
			m.refusedCode("restore", subscriptions.NotFound, func(store subscriptions.Store) error {
				_, err := store.Seek(ctx, r)
				return err
			})
			return
		}
	}
	for id := range n.gone {
		if s.messages[id] == nil && !s.rules.Ordered {
			s.messages[id] = &modelMessage{}
		}
	}
	m.seekTo(s, r, loosely, func(id subscriptions.MessageID, _ bool) bool { return id.N() > n.n || !n.gone[id] })
}

// refusedCode checks that both stores refuse a call.
func (m *machine) refusedCode(what string, want subscriptions.Code, call func(subscriptions.Store) error) {
	m.Helper()
	_, err := both(m, what, func(s subscriptions.Store) (any, error) { return nil, call(s) })
	if subscriptions.CodeOf(err) != want {
		m.Fatalf("%s: got %v, want %v", what, err, want)
	}
}

func (m *machine) dropSnapshot() {
	t := m.anyTopic()
	m.removeSnapshot(t, m.anySnapshot(t))
}

func (m *machine) removeSnapshot(t *modelTopic, i int) {
	n := t.snaps[i]
	m.do("drop snapshot", func(s subscriptions.Store) error { return s.DropSnapshot(ctx, t.ref.UID, n.ref.Snapshot) })
	t.snaps = slices.Delete(t.snaps, i, i+1)
}
