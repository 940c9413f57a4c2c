package memory

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// Attach implements subscriptions.Slots.
func (s *Store) Attach(_ context.Context, ref subscriptions.Ref, name subscriptions.SubscriptionName) error {
	s.begin()
	defer s.end()
	t := s.slots[ref.Topic]
	if t == nil || t.closed {
		return subscriptions.ErrGone
	}
	if t.states[ref.Subscription] == nil {
		for t.nextDelayed(s.now) == 0 {
			s.appendDue(t)
		}
		t.states[ref.Subscription] = newState(ref, name, t)
	}
	return s.use(ref)
}

// Revise implements subscriptions.Slots.
func (s *Store) Revise(_ context.Context, ref subscriptions.Ref) error {
	s.begin()
	defer s.end()
	return s.use(ref)
}

// use adopts a revision and counts that as a use of the subscription.
func (s *Store) use(ref subscriptions.Ref) error {
	st, err := s.state(ref)
	if err == nil {
		st.used, st.retain = s.now, millis(ref.Retain)
	}
	return err
}

// Drop implements subscriptions.Slots.
func (s *Store) Drop(_ context.Context, topic, subscription string) error {
	s.begin()
	defer s.end()
	t := s.slots[topic]
	if t == nil || t.states[subscription] == nil {
		return nil
	}
	s.wakeState(t.states[subscription], subscriptions.Revised, 0)
	delete(t.states, subscription)
	if t.unused() {
		t.empty()
	}
	t.trim(s.now)
	return nil
}

// Stats implements subscriptions.Slots.
func (s *Store) Stats(_ context.Context, ref subscriptions.Ref) (subscriptions.Stats, error) {
	s.begin()
	defer s.end()
	st, err := s.state(ref)
	if err != nil {
		return subscriptions.Stats{}, err
	}
	s.appendDue(st.slot)
	return st.stats(s.now), nil
}

func (st *state) stats(now int64) subscriptions.Stats {
	left, leftBytes, _ := st.left()
	return subscriptions.Stats{
		Undelivered:  st.undelivered() + int64(len(st.source)) + left,
		Outstanding:  int64(len(st.messages)),
		Dead:         int64(len(st.dead.items)),
		Parked:       st.parked(),
		Bytes:        st.slot.log.end.bytes - st.cursor.bytes + st.bytes + sizesOf(st.source) + leftBytes,
		OldestAge:    st.oldestAge(now),
		Acked:        st.acked,
		Nacked:       st.nacked,
		Expired:      st.expired,
		Dropped:      st.dropped,
		Late:         st.late,
		Lost:         st.lost,
		DeadLettered: st.deadLettered,
		Filtered:     st.filtered,
	}
}

// Unused implements subscriptions.Slots.
func (s *Store) Unused(_ context.Context, refs []subscriptions.Ref) ([]time.Duration, error) {
	s.begin()
	defer s.end()
	unused := make([]time.Duration, len(refs))
	for i, ref := range refs {
		if t := s.slots[ref.Topic]; t != nil && t.states[ref.Subscription] != nil {
			unused[i] = until(t.states[ref.Subscription].used, s.now)
		}
	}
	return unused, nil
}

func (st *state) parked() (n int64) {
	for _, q := range st.keys {
		for _, m := range q.items {
			if m.phase == parked {
				n++
			}
		}
	}
	return n
}

func (st *state) oldestAge(now int64) (age time.Duration) {
	for _, o := range st.over {
		age = max(age, until(o.milli, now))
	}
	for _, u := range st.source {
		if _, redriven := st.letters[u.id]; !redriven {
			age = max(age, until(u.id.Milli, now))
		}
	}
	for _, m := range st.all.items {
		if _, redriven := st.letters[m.id]; !redriven {
			age = max(age, until(m.id.Milli, now))
		}
	}
	if ahead := st.slot.log.after(st.cursor.n); age == 0 && len(ahead) > 0 {
		age = until(ahead[0].id.Milli, now)
	}
	for _, l := range st.letters {
		age = max(age, until(l.at, now))
	}
	return age
}
