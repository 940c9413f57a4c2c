package memory

import (
	"cmp"
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

// Confirm implements subscriptions.Leases.
func (s *Store) Confirm(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) (missed subscriptions.Missed, err error) {
	err = s.onState(ref, func(st *state) {
		st.used = s.now
		for _, r := range receipts {
			switch m := st.held(r, s.now); {
			case m == nil && st.confirmed.has(r, s.now):
			case m == nil:
				missed.Over = append(missed.Over, r)
			case !st.isHead(m):
				missed.Early = append(missed.Early, r)
			default:
				st.confirmed.add(r, m.at)
				st.acked++
				st.take(m)
			}
		}
		st.confirmed.forget(s.now)
		st.slot.trim(s.now)
	})
	return missed, err
}

// Extend implements subscriptions.Leases.
func (s *Store) Extend(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt, d time.Duration) (missed []subscriptions.Receipt, err error) {
	err = s.onState(ref, func(st *state) {
		st.used = s.now
		for _, r := range receipts {
			if m := st.held(r, s.now); m != nil {
				st.put(m, leased, s.now+millis(d))
			} else {
				missed = append(missed, r)
			}
		}
	})
	return missed, err
}

// Nack implements subscriptions.Leases.
func (s *Store) Nack(_ context.Context, r subscriptions.NackRequest) (missed []subscriptions.Receipt, err error) {
	err = s.onState(r.Ref, func(st *state) {
		st.max = r.Rules.MaxAttempts
		if r.Use {
			st.used = s.now
		}
		delays := delays{r.Rules.Retry, r.Jitter, 0}
		current := make([]*outstanding, len(r.Nacks)) // before the first nack sends back what follows in its queue
		for i, n := range r.Nacks {
			if current[i] = st.held(n.Receipt, s.now); current[i] == nil {
				missed = append(missed, n.Receipt)
			}
		}
		for i, n := range r.Nacks {
			if current[i] == nil || st.held(n.Receipt, s.now) == nil {
				continue
			}
			st.nacked++
			why := n.Failure
			why.Reason = cmp.Or(why.Reason, subscriptions.ReasonRefused)
			st.fail(current[i], s.now, why, s.now+millis(max(delays.after(current[i], r.Rules), n.AtLeast)))
		}
	})
	return missed, err
}

// Release implements subscriptions.Leases.
func (s *Store) Release(_ context.Context, ref subscriptions.Ref, releases []subscriptions.Release) error {
	return s.onState(ref, func(st *state) {
		for _, r := range releases {
			if m := st.held(r.Receipt, s.now); m != nil {
				if r.Reason != "" {
					m.remember(0, s.now, r.Failure)
				}
				st.release(m)
			}
		}
	})
}
