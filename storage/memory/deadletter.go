package memory

import (
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

// AppendDead implements subscriptions.DeadLetters.
func (s *Store) AppendDead(_ context.Context, topic subscriptions.TopicRef, source string, dead []subscriptions.Message, keep time.Duration) error {
	s.begin()
	defer s.end()
	t, err := s.slot(topic)
	if err != nil {
		return err
	}
	taken := t.taken[source]
	if taken == nil {
		taken = map[subscriptions.MessageID]bool{}
		t.taken[source] = taken
	}
	var fresh []subscriptions.Message
	for _, m := range dead {
		if !taken[m.ID] {
			taken[m.ID] = true
			fresh = append(fresh, m)
		}
	}
	for _, id := range s.publish(t, fresh, true) {
		if len(t.states) == 0 {
			t.kept = append(t.kept, kept{id.N(), id.Milli + millis(keep)})
		}
	}
	return nil
}

// SettleDead implements subscriptions.DeadLetters. A message that was called back to life since it was taken goes too: its
// copy is in the dead-letter topic.
func (s *Store) SettleDead(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return s.onState(ref, func(st *state) {
		for _, r := range receipts {
			if m := st.find(r); m != nil && !st.redrivenSince(m, r) {
				st.take(m)
				st.deadLettered++
			}
		}
		st.slot.trim(s.now)
	})
}

// Attempts implements subscriptions.DeadLetters.
func (s *Store) Attempts(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) (all [][]subscriptions.Attempt, err error) {
	err = s.onState(ref, func(st *state) {
		all = make([][]subscriptions.Attempt, len(receipts))
		for i, r := range receipts {
			if m := st.find(r); m != nil {
				all[i] = slices.Clone(m.attempts)
			}
		}
	})
	return all, err
}

// ForgetDead implements subscriptions.DeadLetters.
func (s *Store) ForgetDead(_ context.Context, topic, source string, ids []subscriptions.MessageID) error {
	s.begin()
	defer s.end()
	t := s.slots[topic]
	if t == nil {
		return nil
	}
	for _, id := range ids {
		delete(t.taken[source], id)
	}
	if len(t.taken[source]) == 0 {
		delete(t.taken, source)
	}
	return nil
}
