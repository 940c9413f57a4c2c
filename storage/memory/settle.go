package memory

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// find returns the outstanding message of a receipt, whatever the delivery; nil when there is none of the same epoch.
func (st *state) find(r subscriptions.Receipt) *outstanding {
	if r.Epoch != st.epoch {
		return nil
	}
	return st.messages[r.ID]
}

// held returns the message of a receipt if it is leased by this very delivery and the lease has not run out.
func (st *state) held(r subscriptions.Receipt, now int64) *outstanding {
	m := st.find(r)
	if m == nil || m.phase != leased || m.number != r.Number || m.at <= now {
		return nil
	}
	return m
}

// Acknowledge implements subscriptions.Leases.
func (s *Store) Acknowledge(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return s.onState(ref, func(st *state) {
		st.used = s.now
		late := map[uint64]bool{}
		for _, r := range receipts {
			switch m := st.find(r); {
			case m == nil:
			case st.isHead(m):
				if m.counts(r, late) {
					st.acked++
					st.take(m)
				}
			case m.phase == leased && m.number == r.Number:
				st.put(m, acked, 0)
			}
		}
		st.slot.trim(s.now)
	})
}

// counts tells whether an ack of the head of a queue does, or of what has no key. What was sent back comes again after the one
// before it, unless that went by a late ack, too: late holds the keys whose head did, while nobody held it.
func (m *outstanding) counts(r subscriptions.Receipt, late map[uint64]bool) bool {
	if m.key == 0 || m.phase == leased {
		delete(late, m.key)
		return true
	}
	late[m.key] = r.Number == m.number || late[m.key] && r.Number == m.number-1
	return late[m.key]
}

// Extend implements subscriptions.Leases.
func (s *Store) Extend(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt, d time.Duration) error {
	return s.onState(ref, func(st *state) {
		for _, r := range receipts {
			if m := st.held(r, s.now); m != nil {
				st.put(m, leased, s.now+millis(d))
			}
		}
	})
}

// Nack implements subscriptions.Leases.
func (s *Store) Nack(_ context.Context, r subscriptions.NackRequest) error {
	return s.onState(r.Ref, func(st *state) {
		st.max = r.Rules.MaxAttempts
		delays := delays{r.Rules.Retry, r.Jitter, 0}
		for _, n := range r.Nacks {
			m := st.held(n.Receipt, s.now)
			if m == nil {
				continue
			}
			st.nacked++
			st.fail(m, s.now+millis(max(delays.after(m, r.Rules), n.AtLeast)))
		}
	})
}

// Release implements subscriptions.Leases.
func (s *Store) Release(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return s.onState(ref, func(st *state) {
		for _, r := range receipts {
			if m := st.held(r, s.now); m != nil {
				st.release(m)
			}
		}
	})
}
