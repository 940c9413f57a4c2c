package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

var snapshotting = []check{
	{"exactly what was unacked, and all since", snapshotExact},
	{"of another subscription of the topic", snapshotOther},
	{"twice", snapshotTwice},
	{"of what a seek has not brought yet", snapshotSource},
	{"forth again", snapshotForth},
	{"order", snapshotOrder},
	{"order where messages are left in the log", snapshotLeft},
	{"of a subscription without order", snapshotUnordered},
	{"restored where there is no order", snapshotIntoUnordered},
	{"it holds the log", snapshotHolds},
	{"with nothing attached", snapshotAlone},
	{"of a topic that is closed", snapshotClosed},
	{"how long it lasts", snapshotLife},
	{"keeping it longer or shorter", snapshotKeep},
	{"taken once", snapshotOnce},
	{"names", snapshotNames},
	{"none such", snapshotMissing},
	{"what would change", snapshotValidate},
	{"wake-ups", snapshotWakes},
	{"many", snapshotMany},
}

// snap is a snapshot.
type snap struct {
	*rig
	ref     subscriptions.SnapshotRef
	name    subscriptions.SnapshotName
	expires time.Time
}

func (s *sub) snapshot() *snap {
	s.Helper()
	id := unique("n")
	n := &snap{
		rig:  s.rig,
		ref:  subscriptions.SnapshotRef{Topic: s.ref.Topic, Snapshot: id, Revision: 1},
		name: subscriptions.SnapshotName{Project: "p", ID: id},
	}
	var err error
	n.expires, err = s.Store.TakeSnapshot(s.Context(), s.ref, n.ref, n.name)
	s.ok(err)
	n.ref.Expires = n.expires
	return n
}

func (n *snap) drop() {
	n.Helper()
	n.ok(n.Store.DropSnapshot(n.Context(), n.ref.Topic, n.ref.Snapshot))
}

// keep tells how long a snapshot is kept.
func (n *snap) keep() time.Duration {
	n.Helper()
	left, err := n.Store.KeepSnapshot(n.Context(), n.ref)
	n.ok(err)
	return left
}

// restore seeks to a snapshot.
func (s *sub) restore(n *snap) {
	s.Helper()
	_, err := s.Store.Seek(s.Context(), subscriptions.SeekRequest{Ref: s.ref, Snapshot: n.ref.Snapshot})
	s.ok(err)
}

func (s *sub) wouldRestore(n *snap) subscriptions.SeekResult {
	s.Helper()
	result, err := s.Store.Seek(s.Context(), subscriptions.SeekRequest{Ref: s.ref, Snapshot: n.ref.Snapshot, ValidateOnly: true})
	s.ok(err)
	return result
}

func snapshotExact(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c", "d", "e")
	ds := s.leases(4, "a", "b", "c", "d")
	s.ack(ds[1])
	n := s.snapshot()
	s.ack(ds[0], ds[2], ds[3])
	s.consume(1)
	t.publish("f")
	s.consume(1)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 6})
	s.restore(n)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 5, Bytes: 5, Acked: 6})
	again := s.leases(2, "a", "c")
	same(r, "attempt", again[0].Attempt, 1)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 3, Outstanding: 2, Bytes: 5, Acked: 6})
	s.ack(s.leases(10, "d", "e", "f")...)
	s.ack(again...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 11})
}

func snapshotOther(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.consume(1)
	n := s.snapshot()
	other := t.attach()
	t.publish("c")
	other.restore(n)
	other.leases(10, "b", "c")
	s.leases(10, "b", "c")
}

func snapshotTwice(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.lease(1)
	n := s.snapshot()
	for range 3 {
		s.restore(n)
		s.ack(s.leases(10, "a", "b")...)
	}
	n.drop()
	t.holds(0)
}

func snapshotSource(r *rig) {
	t, s := r.one()
	start := r.Clock.Now()
	t.publish("a", "b", "c", "d")
	s.leases(3, "a", "b", "c")
	s.seek(start)
	s.leases(1, "a")
	n := s.snapshot()
	s.consume(3)
	s.restore(n)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 4, Bytes: 4, Acked: 3})
	other := s.snapshot() // of the source alone
	s.ack(s.leases(10, "a", "b", "c", "d")...)
	s.restore(other)
	s.leases(10, "a", "b", "c", "d")
}

func snapshotForth(r *rig) {
	t, s := r.retained()
	start := t.minutes("a", "b", "c")
	s.ack(s.leases(3, "a", "b", "c")[:2]...)
	n := s.snapshot()
	s.seek(start)
	s.restore(n)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 1, OldestAge: time.Minute, Acked: 2})
	s.leases(10, "c")
}

func snapshotHolds(r *rig) {
	t, s := r.one()
	t.several(600)
	ds := s.lease(100)
	s.ack(ds[1:]...)
	n := s.snapshot()
	s.ack(ds[0])
	s.consume(500)
	t.trim()
	t.holds(600)
	later := s.snapshot()
	t.several(200)
	s.consume(200)
	n.drop()
	t.trim()
	t.holds(200)
	later.drop()
	t.trim()
	t.holds(0)
	n.drop()
}

func snapshotAlone(r *rig) {
	t, s := r.one()
	t.publish("a")
	n := s.snapshot()
	s.drop()
	t.publish("b")
	t.trim()
	t.holds(2)
	other := t.attach()
	other.restore(n)
	other.leases(10, "a", "b")
}

func snapshotClosed(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	n := s.snapshot()
	s.consume(2)
	r.ok(r.Store.CloseTopic(r.Context(), t.ref.UID))
	t.holds(2)
	s.restore(n)
	s.leases(10, "a", "b")
	s.drop()
	t.trim()
	t.holds(0)
	same(r, "kept", n.keep(), subscriptions.SnapshotLife)
	n.drop()
	_, err := r.Store.KeepSnapshot(r.Context(), n.ref)
	r.is(err, subscriptions.ErrGone)
}

func snapshotLife(r *rig) {
	t, s := r.one()
	now := r.Clock.Now()
	s.rules.Retention = 31 * day
	same(r, "expires", s.snapshot().expires, now.Add(7*day))
	t.publish("a", "b")
	r.Clock.Advance(6 * day)
	same(r, "ahead of the cursor", s.snapshot().expires, now.Add(7*day))
	s.lease(1)
	r.Clock.Advance(23 * time.Hour)
	n := s.snapshot()
	same(r, "outstanding", n.expires, now.Add(7*day))
	same(r, "left", n.keep(), time.Hour)
	s.seek(now)
	r.Clock.Advance(time.Millisecond)
	_, err := r.Store.TakeSnapshot(r.Context(), s.ref, subscriptions.SnapshotRef{Topic: t.ref.UID, Snapshot: "other", Revision: 1}, n.name)
	r.code(err, subscriptions.FailedPrecondition)
	_, err = r.Store.KeepSnapshot(r.Context(), subscriptions.SnapshotRef{Topic: t.ref.UID, Snapshot: "other"})
	r.is(err, subscriptions.ErrGone)
	s.restore(n)
	r.Clock.Advance(time.Hour)
	same(r, "left", n.keep(), -time.Millisecond)
	_, err = r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Snapshot: n.ref.Snapshot})
	r.code(err, subscriptions.NotFound)
}

func snapshotKeep(r *rig) {
	_, s := r.one()
	n := s.snapshot()
	older := n.ref
	n.ref.Revision, n.ref.Expires = 2, r.Clock.Now().Add(time.Minute)
	same(r, "left", n.keep(), time.Minute)
	left, err := r.Store.KeepSnapshot(r.Context(), older)
	r.ok(err)
	same(r, "left", left, time.Minute)
	r.Clock.Advance(time.Minute)
	_, err = r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Snapshot: n.ref.Snapshot})
	r.code(err, subscriptions.NotFound)
	n.ref.Revision, n.ref.Expires = 3, r.Clock.Now().Add(time.Hour)
	same(r, "left", n.keep(), time.Hour)
	s.restore(n)
}

func snapshotOnce(r *rig) {
	t, s := r.one()
	t.publish("a")
	n := s.snapshot()
	s.consume(1)
	r.Clock.Advance(time.Hour)
	expires, err := r.Store.TakeSnapshot(r.Context(), s.ref, n.ref, n.name)
	r.ok(err)
	same(r, "expires", expires, n.expires)
	s.restore(n)
	s.leases(10, "a")
	gone := s.ref
	s.drop()
	_, err = r.Store.TakeSnapshot(r.Context(), gone, n.ref, n.name)
	r.is(err, subscriptions.ErrGone)
}

func snapshotNames(r *rig) {
	t, s := r.one()
	names := func() []subscriptions.SnapshotName {
		got, err := r.Store.SnapshotsOf(r.Context(), t.ref.UID)
		r.ok(err)
		return append([]subscriptions.SnapshotName{}, got...)
	}
	same(r, "names", names(), []subscriptions.SnapshotName{})
	n := s.snapshot()
	same(r, "names", names(), []subscriptions.SnapshotName{n.name})
	n.drop()
	same(r, "names", names(), []subscriptions.SnapshotName{})
}

func snapshotMissing(r *rig) {
	t, s := r.one()
	t.publish("a")
	_, other := r.one()
	n := other.snapshot()
	for _, uid := range []string{"none", n.ref.Snapshot} {
		_, err := r.Store.Seek(r.Context(), subscriptions.SeekRequest{Ref: s.ref, Snapshot: uid})
		r.code(err, subscriptions.NotFound)
	}
	r.ok(r.Store.DropSnapshot(r.Context(), t.ref.UID, "none"))
	r.ok(r.Store.DropSnapshot(r.Context(), unique("t"), "none"))
	s.leases(10, "a")
}

func snapshotValidate(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c", "d", "e")
	ds := s.leases(3, "a", "b", "c")
	s.ack(ds[0])
	n := s.snapshot() // b, c, d, e
	same(r, "nothing", s.wouldRestore(n), subscriptions.SeekResult{})
	s.ack(ds[1])
	s.ack(s.leases(1, "d")...)
	s.lease(1)
	t.publish("f")
	same(r, "b and d", s.wouldRestore(n), subscriptions.SeekResult{Unacked: 2})
	r.Clock.Advance(time.Millisecond)
	s.seek(r.Clock.Now())
	t.publish("g")
	same(r, "all but g", s.wouldRestore(n), subscriptions.SeekResult{Unacked: 5})
	later := s.snapshot() // g
	s.restore(n)
	s.lease(1)
	same(r, "back", s.wouldRestore(later), subscriptions.SeekResult{Acked: 5})
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 5, Outstanding: 1, Bytes: 6, OldestAge: time.Millisecond, Acked: 3})
}

func snapshotWakes(r *rig) {
	t, s := r.one()
	n := s.snapshot()
	w := r.watch(t.ref.UID)
	s.restore(n)
	w.brought(s.due(0))
	n.drop()
	w.brought()
}

func snapshotMany(r *rig) {
	t, s := r.one()
	t.several(500)
	var want []string
	for range 5 {
		for i, d := range s.lease(100) {
			if i%2 == 0 {
				s.ack(d)
			} else {
				want = append(want, string(d.Message.Data))
			}
		}
	}
	n := s.snapshot()
	t.publish("last")
	r.Clock.Advance(time.Second)
	s.seek(r.Clock.Now())
	s.restore(n)
	bytes := int64(0)
	for _, text := range append(want, "last") {
		bytes += int64(len(text))
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 251, Bytes: bytes, OldestAge: time.Second, Acked: 250})
	same(r, "messages", fmt.Sprint(data(s.drain())), fmt.Sprint(append(want, "last")))
}
