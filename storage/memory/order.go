package memory

import (
	"slices"

	"postrider/subscriptions"
)

// Messages of one ordering key stand in a queue. Its head is leased, waits or is dead. Behind a leased head there may be
// more that are leased, or acked provisionally; all else is parked.

// keyOf is the key by which a message is ordered; 0 for none.
func keyOf(m subscriptions.Message, r subscriptions.Rules) uint64 {
	if !r.Ordered {
		return 0
	}
	return m.KeyHash()
}

// enqueue puts m behind the messages of its key.
func (st *state) enqueue(m *outstanding) {
	if m.key == 0 {
		return
	}
	if st.keys[m.key] == nil {
		st.keys[m.key] = &ordered{compare: byLog}
	}
	st.keys[m.key].add(m)
}

// behind returns what stands behind m in its queue.
func (st *state) behind(m *outstanding) []*outstanding {
	if m.key == 0 {
		return nil
	}
	items := st.keys[m.key].items
	return slices.Clone(items[slices.Index(items, m)+1:])
}

// isHead tells whether nothing stands before m.
func (st *state) isHead(m *outstanding) bool {
	return m.key == 0 || st.keys[m.key].items[0] == m
}

// leaveQueue takes m, which is removed, out of its queue. When it was the head, what was acked behind it goes too, and the
// next is free.
func (st *state) leaveQueue(m *outstanding) {
	if m.key == 0 {
		return
	}
	q := st.keys[m.key]
	head := q.items[0] == m
	q.remove(m)
	for head && len(q.items) > 0 && q.items[0].phase == acked {
		st.remove(q.items[0])
		q.remove(q.items[0])
		st.acked++
	}
	switch {
	case len(q.items) == 0:
		delete(st.keys, m.key)
	case head && q.items[0].phase == parked:
		st.promote(q.items[0])
	}
}

// promote lets a parked message that has become the head be leased.
func (st *state) promote(m *outstanding) {
	if st.max > 0 && m.attempts() >= st.max {
		st.bury(m, st.now)
	} else {
		st.put(m, waiting, st.now)
	}
}

// park puts m, that was leased or is new, behind the others of its key.
func (st *state) park(m *outstanding) { st.put(m, parked, 0) }

// fail ends the lease of m without an ack: m waits until at, or is dead when that was its last attempt. All that follows in
// its queue comes again after it.
func (st *state) fail(m *outstanding, at int64) {
	st.sendBack(m)
	switch {
	case !st.isHead(m):
		st.park(m)
	case st.max > 0 && m.attempts() >= st.max:
		st.bury(m, st.now)
	default:
		st.put(m, waiting, at)
	}
}

// release ends the lease of m as if it had never been.
func (st *state) release(m *outstanding) {
	m.released++
	st.sendBack(m)
	if st.isHead(m) {
		st.put(m, waiting, st.now)
	} else {
		st.park(m)
	}
}

// sendBack parks what is leased or acked behind m. These attempts do not count.
func (st *state) sendBack(m *outstanding) {
	for _, next := range st.behind(m) {
		if next.phase == leased || next.phase == acked {
			next.released++
			st.park(next)
		}
	}
}
