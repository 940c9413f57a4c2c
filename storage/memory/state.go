package memory

import (
	"math"
	"time"

	"postrider/subscriptions"
)

// phase is where an outstanding message stands.
type phase int8

const (
	leased  phase = iota // until at
	waiting              // to be leased again, from at on
	dead                 // to be moved to the dead-letter topic, from at on
	parked               // behind an earlier message of its key
	acked                // provisionally: an earlier message of its key is leased
)

// outstanding is a message that was leased and is not settled.
type outstanding struct {
	id       subscriptions.MessageID
	size     int64
	key      uint64 // 0 without order
	number   int64  // deliveries
	released int64  // deliveries that do not count as attempts
	phase    phase
	at       int64 // in milliseconds; what happens then follows from phase

	failedFirst int64                   // when an attempt failed first; in milliseconds, 0 for never
	attempts    []subscriptions.Attempt // that failed, newest first
}

// attempt is how many attempts were had, or, under a lease, which one it is.
func (m *outstanding) attempt() int { return int(m.number - m.released) }

// exhausted tells whether m has had all its attempts.
func (m *outstanding) exhausted(r subscriptions.Rules) bool {
	return r.MaxAttempts > 0 && m.attempt() >= r.MaxAttempts
}

// state is a subscription: its cursor in the log and what it has outstanding.
type state struct {
	uid      string
	name     subscriptions.SubscriptionName
	slot     *slot
	revision int64
	epoch    int64
	cursor   position
	used     int64 // when it was used last
	retain   int64 // how long messages are kept that were acked, in milliseconds

	messages map[subscriptions.MessageID]*outstanding
	all      ordered             // messages, in order of the log
	leases   ordered             // those leased
	waits    ordered             // those waiting
	dead     ordered             // those dead
	bytes    int64               // the size of messages
	keys     map[uint64]*ordered // by key, messages in order of the log
	over     map[uint64]*overflow

	history []subscriptions.Counts // survey.go
	breaker *keptBreaker           // nil while it is closed
	report  keptReport
	// source is what leases read before the log, in its order: what was outstanding before a seek.
	source []unacked
	from   position // where the cursor was at first
	// letters are the redriven messages of messages and of source.
	letters map[subscriptions.MessageID]letter

	confirmed confirmed
	now       int64 // the time of the step
	max       int   // the last known MaxAttempts

	// bound is where the last lease held back messages that were not outstanding since so many were; 0 when it did not.
	bound int
	// urgent means that somebody should look at once: a message became dead in this step, or a queue can be filled again.
	urgent bool

	acked, nacked, expired, dropped, late, lost, deadLettered, filtered int64
}

func newState(ref subscriptions.Ref, name subscriptions.SubscriptionName, t *slot) *state {
	return &state{
		uid: ref.Subscription, name: name, slot: t, revision: ref.Revision, cursor: t.log.end, from: t.log.end,
		messages: map[subscriptions.MessageID]*outstanding{},
		keys:     map[uint64]*ordered{},
		over:     map[uint64]*overflow{},
		letters:  map[subscriptions.MessageID]letter{},

		confirmed: confirmed{until: map[delivery]int64{}},

		all:    ordered{compare: byLog},
		leases: ordered{compare: byTime},
		waits:  ordered{compare: byTime},
		dead:   ordered{compare: byTime},
	}
}

// state finds a subscription's state and adopts the revision. Whatever step brings a higher one wakes those who wait under
// the old: the Revise that follows would not be higher any more.
func (s *Store) state(ref subscriptions.Ref) (*state, error) {
	t := s.slots[ref.Topic]
	if t == nil || t.states[ref.Subscription] == nil {
		return nil, subscriptions.ErrGone
	}
	st := t.states[ref.Subscription]
	if ref.Revision < st.revision {
		return nil, subscriptions.ErrStale
	}
	if ref.Revision > st.revision {
		st.revision = ref.Revision
		s.wakeState(st, subscriptions.Revised, 0)
	}
	return st, nil
}

// onState runs a step on a state and then wakes who can do something earlier than was known before.
func (s *Store) onState(ref subscriptions.Ref, step func(*state)) error {
	s.begin()
	defer s.end()
	st, err := s.state(ref)
	if err != nil {
		return err
	}
	st.now = s.now
	before, leaseBefore := st.heads()
	st.urgent = false
	step(st)
	after, lease := st.heads()
	freed := len(st.messages) < st.bound
	if freed {
		st.bound = 0
	}
	switch {
	case freed || st.urgent:
		s.wakeState(st, subscriptions.Due, 0)
	case after < before:
		s.wakeState(st, subscriptions.Due, until(s.now, after))
	case lease < leaseBefore: // though something waits already: sweeps wait for leases alone
		s.wakeState(st, subscriptions.Due, until(s.now, lease))
	}
	return nil
}

func (s *Store) wakeState(st *state, kind subscriptions.WakeKind, in time.Duration) {
	s.wake(st.slot.uid, subscriptions.Wake{Kind: kind, Subscription: st.uid, In: in})
}

// put makes m stand in a phase until at.
func (st *state) put(m *outstanding, p phase, at int64) {
	if st.messages[m.id] == nil {
		st.messages[m.id] = m
		st.all.add(m)
		st.bytes += m.size
		st.enqueue(m)
	} else if line := st.line(m.phase); line != nil {
		line.remove(m)
	}
	m.phase, m.at = p, at
	if line := st.line(p); line != nil {
		line.add(m)
	}
}

// take removes m, and lets the next of its key go on.
func (st *state) take(m *outstanding) {
	st.remove(m)
	st.leaveQueue(m)
}

func (st *state) remove(m *outstanding) {
	if line := st.line(m.phase); line != nil {
		line.remove(m)
	}
	st.all.remove(m)
	delete(st.messages, m.id)
	delete(st.letters, m.id)
	st.bytes -= m.size
}

func (st *state) line(p phase) *ordered {
	switch p {
	case leased:
		return &st.leases
	case waiting:
		return &st.waits
	case dead:
		return &st.dead
	}
	return nil
}

// head is when the first lease runs out or the first wait is over; false when there is none.
func (st *state) head() (at int64, ok bool) {
	at, ok = st.leases.head()
	if w, some := st.waits.head(); some && (!ok || w < at) {
		return w, true
	}
	return at, ok
}

// heads is when the first lease runs out or the first wait is over, and when the first lease runs out; never for what is
// not.
func (st *state) heads() (due, lease int64) {
	due, lease = never, never
	if at, ok := st.head(); ok {
		due = at
	}
	if at, ok := st.leases.head(); ok {
		lease = at
	}
	return due, lease
}

const never = math.MaxInt64

// bury makes m dead, ready to be moved.
func (st *state) bury(m *outstanding, now int64) {
	st.put(m, dead, now)
	st.urgent = true
}

// undelivered is how many messages lie ahead of the cursor.
func (st *state) undelivered() int64 { return st.slot.log.end.n - st.cursor.n }

// oldest is the number in the log of the oldest message that is needed here.
func (st *state) oldest() int64 {
	oldest := st.cursor.n + 1
	if len(st.all.items) > 0 {
		oldest = st.all.items[0].id.N() // outstanding messages lie before the cursor
	}
	if len(st.source) > 0 {
		oldest = min(oldest, st.source[0].id.N())
	}
	if _, _, first := st.left(); first > 0 {
		oldest = min(oldest, first)
	}
	return oldest
}
