package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"postrider/subscriptions"
)

// slot is a topic: its log and the states of its subscriptions.
type slot struct {
	uid      string
	revision int64
	closed   bool
	// retention is how long every message is kept, in milliseconds.
	retention int64
	log       log
	states    map[string]*state // by the subscription's UID
	// snapshots are by their UID.
	snapshots map[string]*snapshot
	// taken are the dead letters in the log that came from each source, by their ids there.
	taken map[string]map[subscriptions.MessageID]bool
	// returned are the dead letters that were put back into a subscription of this topic, and until when, in milliseconds, that
	// is known.
	returned map[returned]int64
	// kept are the dead letters that came while nothing was attached, in order of the log.
	kept []kept
	// history is what the topic held at the end of each minute (survey.go).
	history []subscriptions.Counts
	// delayed are the messages that are not due yet, in order of when they are, and delays counts all that ever were.
	delayed []delayed
	delays  int64
}

// kept holds a message in the log until a time, whoever needs it.
type kept struct{ n, until int64 }

// slot finds an open slot and adopts the revision.
func (s *Store) slot(ref subscriptions.TopicRef) (*slot, error) {
	t := s.slots[ref.UID]
	switch {
	case t == nil || t.closed:
		return nil, subscriptions.ErrGone
	case ref.Revision < t.revision:
		return nil, subscriptions.ErrStale
	}
	if ref.Revision > t.revision {
		t.retention = millis(ref.Retention)
	}
	t.revision = ref.Revision
	return t, nil
}

// sorted are the states in order of their subscriptions' names.
func (t *slot) sorted() []*state {
	return slices.SortedFunc(maps.Values(t.states), func(a, b *state) int {
		return cmp.Compare(a.name.String(), b.name.String())
	})
}

// empty forgets everything but that the slot is closed.
func (t *slot) empty() {
	*t = slot{uid: t.uid, revision: t.revision, closed: true}
}

// unused tells whether nobody will ever need anything of a slot.
func (t *slot) unused() bool { return t.closed && len(t.states) == 0 && len(t.snapshots) == 0 }

// trim cuts off the log what no state needs and no dead letter holds. A log has one beginning: what lies behind something
// needed stays too.
func (t *slot) trim(now int64) {
	t.kept = slices.DeleteFunc(t.kept, func(k kept) bool { return k.until < now })
	need := t.log.end.n + 1
	for _, k := range t.kept {
		need = min(need, k.n)
	}
	for _, st := range t.states {
		need = min(need, st.oldest())
	}
	for _, snap := range t.snapshots {
		need = min(need, snap.oldest())
	}
	if t.closed && len(t.states) == 0 {
		need = t.log.end.n + 1 // there is nobody left to seek to a snapshot
	}
	if keep := t.retained(); keep > 0 {
		need = min(need, t.log.since(now-keep))
	}
	t.log.cut(need)
}

// retained is how long the log keeps messages that nobody has unacked.
func (t *slot) retained() int64 {
	longest := t.retention
	for _, st := range t.states {
		longest = max(longest, st.retain)
	}
	return longest
}

// OpenTopic implements subscriptions.Log.
func (s *Store) OpenTopic(_ context.Context, ref subscriptions.TopicRef) error {
	s.begin()
	defer s.end()
	if s.slots[ref.UID] == nil {
		s.slots[ref.UID] = &slot{
			uid:       ref.UID,
			states:    map[string]*state{},
			snapshots: map[string]*snapshot{},
			taken:     map[string]map[subscriptions.MessageID]bool{},
			returned:  map[returned]int64{},
		}
	}
	t, err := s.slot(ref)
	if err == nil {
		t.retention = millis(ref.Retention)
	}
	return err
}

// CloseTopic implements subscriptions.Log.
func (s *Store) CloseTopic(_ context.Context, uid string) error {
	s.begin()
	defer s.end()
	t := s.slots[uid]
	if t == nil || t.closed {
		return nil
	}
	t.closed, t.retention, t.delayed = true, 0, nil
	for _, st := range t.sorted() {
		s.wakeState(st, subscriptions.Revised, 0)
	}
	if t.unused() {
		t.empty()
	}
	t.trim(s.now)
	return nil
}

// Publish implements subscriptions.Log.
func (s *Store) Publish(_ context.Context, topic subscriptions.TopicRef, msgs []subscriptions.Message) ([]subscriptions.MessageID, error) {
	s.begin()
	defer s.end()
	t, err := s.slot(topic)
	if err != nil {
		return nil, err
	}
	return s.publish(t, msgs, t.isNeeded()), nil
}

// isNeeded tells whether somebody may want what is published now.
func (t *slot) isNeeded() bool { return len(t.states) > 0 || len(t.snapshots) > 0 || t.retention > 0 }

// publish appends messages as one batch.
func (s *Store) publish(t *slot, msgs []subscriptions.Message, store bool) []subscriptions.MessageID {
	if len(msgs) == 0 {
		return nil
	}
	salt := s.options.Salt()
	t.log.last = max(t.log.last, s.now)
	ids := make([]subscriptions.MessageID, len(msgs))
	before, n := t.nextDelayed(s.now), t.log.end.n
	for i, m := range msgs {
		ids[i] = s.publishOne(t, m, salt, store)
	}
	if len(t.states) > 0 && t.log.end.n > n {
		s.wake(t.uid, subscriptions.Wake{Kind: subscriptions.Published})
	}
	if next := t.nextDelayed(s.now); len(t.states) > 0 && next >= 0 && (before < 0 || next < before) {
		s.wake(t.uid, subscriptions.Wake{Kind: subscriptions.Due, In: next})
	}
	return ids
}

// Attached implements subscriptions.Log.
func (s *Store) Attached(_ context.Context, uid string) ([]subscriptions.SubscriptionName, error) {
	s.begin()
	defer s.end()
	t := s.slots[uid]
	if t == nil {
		return nil, nil
	}
	var names []subscriptions.SubscriptionName
	for _, st := range t.sorted() {
		names = append(names, st.name)
	}
	return names, nil
}

// Trim implements subscriptions.Log.
func (s *Store) Trim(_ context.Context, uid string) (more bool, err error) {
	s.begin()
	defer s.end()
	if t := s.slots[uid]; t != nil {
		t.trim(s.now)
	}
	return false, nil
}

// LogLength is how many messages of a topic are stored. It is for tests.
func (s *Store) LogLength(topicUID string) int {
	s.begin()
	defer s.end()
	if t := s.slots[topicUID]; t != nil {
		return len(t.log.entries)
	}
	return 0
}

// Vanish removes a message from the log as if somebody had done so behind the store's back. It is for tests.
func (s *Store) Vanish(topicUID string, id subscriptions.MessageID) {
	s.begin()
	defer s.end()
	if t := s.slots[topicUID]; t != nil {
		t.log.remove(id)
	}
}
