package memory

import (
	"slices"

	"postrider/subscriptions"
)

// A message is late when its own time to live is over. It is never delivered, but dropped, or dead where the rules say so.

func (e entry) isLate(now int64) bool { return e.over > 0 && e.over <= now }

// endLate ends an outstanding message that is late. To be dead it must be the head of its key.
func (st *state) endLate(m *outstanding, r subscriptions.Rules) {
	if r.DeadLetterLate {
		st.bury(m, st.now)
		return
	}
	st.take(m)
	st.late++
}

// addLate makes a late message outstanding that was not: dead if it is the first of its key, else parked.
func (st *state) addLate(m *outstanding) {
	if m.key == 0 || st.keys[m.key] == nil {
		st.bury(m, st.now)
	} else {
		st.park(m)
	}
}

// sweepLate ends late messages that nobody leases: a bounded number right ahead of the cursor, and of those that wait. It tells
// when the next that it saw will be late, 0 for none, and whether there are more.
func (st *state) sweepLate(r subscriptions.Rules) (next int64, more bool) {
	notLate := func(e entry) {
		if e.over > 0 && (next == 0 || e.over < next) {
			next = e.over
		}
	}
	if r.Match == nil || !r.DeadLetterLate { // nobody knows whether it would be selected
		more = st.skipLate(r, notLate)
	}
	ended := 0
	for i, m := range slices.Clone(st.waits.items[:min(stepMax, len(st.waits.items))]) {
		e, ok := st.get(m.id)
		switch {
		case !ok:
		case e.isLate(st.now):
			st.endLate(m, r)
			ended++
		default:
			notLate(e)
		}
		more = more || i == stepMax-1 && ended == stepMax
	}
	return next, more
}

// skipLate is sweepLate ahead of the cursor.
func (st *state) skipLate(r subscriptions.Rules, notLate func(entry)) (more bool) {
	if len(st.source) > 0 {
		return false
	}
	ahead := st.slot.log.after(st.cursor.n)
	for i, e := range ahead {
		key := keyOf(e.message, r)
		switch {
		case i == stepMax:
			return true
		case e.at.n != st.cursor.n+1 || st.over[key] != nil && key != 0:
			return false
		case !e.isLate(st.now):
			notLate(e)
			return false
		case !r.DeadLetterLate:
			st.late++
		case len(st.messages) >= r.Outstanding || key != 0 && st.keys[key] != nil && st.overflows(key, r):
			return false
		default:
			st.addLate(&outstanding{id: e.id, size: e.size, key: key})
		}
		st.cursor = e.at
	}
	return false
}
