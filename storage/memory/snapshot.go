package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"postrider/subscriptions"
)

// snapshot is a place that a subscription can come back to.
type snapshot struct {
	name     subscriptions.SnapshotName
	revision int64
	expires  int64 // in milliseconds
	at       place
}

// oldest is the number in the log of the oldest message that is needed here.
func (snap *snapshot) oldest() int64 {
	oldest := snap.at.cursor.n + 1
	if len(snap.at.source) > 0 {
		oldest = snap.at.source[0].id.N()
	}
	for _, o := range snap.at.over {
		oldest = min(oldest, o.from)
	}
	return oldest
}

// ceilMilli is a time in milliseconds, rounded up: what was published before it was so by the clock's milliseconds, too.
func ceilMilli(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}

// TakeSnapshot implements subscriptions.Seeks.
func (s *Store) TakeSnapshot(_ context.Context, ref subscriptions.Ref, snap subscriptions.SnapshotRef, name subscriptions.SnapshotName) (time.Time, error) {
	var expires int64
	var refused error
	err := s.onState(ref, func(st *state) {
		if taken := st.slot.snapshots[snap.Snapshot]; taken != nil {
			expires = taken.expires
			return
		}
		life := subscriptions.SnapshotLife - st.oldestAge(s.now)
		if life < subscriptions.MinSnapshotLife {
			refused = subscriptions.SnapshotTooShort(life)
			return
		}
		expires = s.now + millis(life)
		st.slot.snapshots[snap.Snapshot] = &snapshot{name: name, revision: snap.Revision, expires: expires, at: st.place()}
		st.used = s.now
	})
	if refused != nil {
		return time.Time{}, refused
	}
	return time.UnixMilli(expires).UTC(), err
}

// KeepSnapshot implements subscriptions.Seeks.
func (s *Store) KeepSnapshot(_ context.Context, ref subscriptions.SnapshotRef) (time.Duration, error) {
	s.begin()
	defer s.end()
	t := s.slots[ref.Topic]
	if t == nil || t.snapshots[ref.Snapshot] == nil {
		return 0, subscriptions.ErrGone
	}
	snap := t.snapshots[ref.Snapshot]
	if ref.Revision > snap.revision {
		snap.revision, snap.expires = ref.Revision, ceilMilli(ref.Expires)
	}
	return time.Duration(snap.expires-s.now) * time.Millisecond, nil
}

// DropSnapshot implements subscriptions.Seeks.
func (s *Store) DropSnapshot(_ context.Context, topic, uid string) error {
	s.begin()
	defer s.end()
	t := s.slots[topic]
	if t == nil || t.snapshots[uid] == nil {
		return nil
	}
	delete(t.snapshots, uid)
	if t.unused() {
		t.empty()
	}
	t.trim(s.now)
	return nil
}

// SnapshotsOf implements subscriptions.Seeks.
func (s *Store) SnapshotsOf(_ context.Context, topic string) ([]subscriptions.SnapshotName, error) {
	s.begin()
	defer s.end()
	var names []subscriptions.SnapshotName
	if t := s.slots[topic]; t != nil {
		for _, snap := range t.snapshots {
			names = append(names, snap.name)
		}
	}
	slices.SortFunc(names, func(a, b subscriptions.SnapshotName) int { return strings.Compare(a.String(), b.String()) })
	return names, nil
}
