package memory

import (
	"cmp"
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
		st.urgent = st.urgent || st.over[m.key] != nil
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

// sendBack parks what is leased or acked behind m. These attempts do not count. The number rises, so that an ack of what was
// sent back is known from one of what comes again.
func (st *state) sendBack(m *outstanding) {
	for _, next := range st.behind(m) {
		if next.phase == leased || next.phase == acked {
			next.number++
			next.released += 2
			st.park(next)
		}
	}
}

// overflow is what a key with too much to park has left in the log.
type overflow struct {
	from  int64 // the number of the first message that may be of it
	milli int64 // when it, or the one before it, was published
	count int64
	bytes int64
}

// refillMax is how many messages go back into a queue at once.
const refillMax = 100

// overflows tells whether a message that cannot be leased now is left in the log.
func (st *state) overflows(key uint64, r subscriptions.Rules) bool {
	return st.over[key] != nil || st.parked() >= int64(r.Outstanding/2)
}

// leave leaves an entry in the log.
func (st *state) leave(key uint64, e entry) {
	if st.over[key] == nil {
		st.over[key] = &overflow{from: e.at.n, milli: e.message.ID.Milli}
	}
	st.over[key].count++
	st.over[key].bytes += e.size
}

// hungry is the key whose queue is to be filled first; 0 for none.
func (st *state) hungry() (key uint64) {
	for k, o := range st.over {
		if st.keys[k] == nil && (key == 0 || cmp.Or(cmp.Compare(o.from, st.over[key].from), cmp.Compare(k, key)) < 0) {
			key = k
		}
	}
	return key
}

// refill fills a queue that is empty from what its key left in the log.
func (st *state) refill(r subscriptions.Rules) {
	key := st.hungry()
	if key == 0 {
		return
	}
	o := st.over[key]
	looked, filled := 0, 0
	for _, e := range st.slot.log.after(o.from - 1) {
		if e.at.n > st.cursor.n || looked == stepMax || filled == refillMax || len(st.messages) >= r.Outstanding {
			break
		}
		looked++
		o.from, o.milli = e.at.n+1, e.message.ID.Milli
		if keyOf(e.message, r) != key {
			continue
		}
		o.count--
		o.bytes -= e.size
		if outlived(e.message.ID, st.now, r) {
			st.dropped++
			continue
		}
		m := &outstanding{id: e.message.ID, size: e.size, key: key}
		st.park(m)
		if filled++; filled == 1 {
			st.promote(m)
		}
	}
	ahead := st.slot.log.after(o.from - 1)
	if end := len(ahead) == 0 || ahead[0].at.n > st.cursor.n; end || o.count == 0 {
		st.lost += o.count
		delete(st.over, key)
	}
}

// left is what all keys have left in the log, and the first message of it; 0 for none.
func (st *state) left() (count, bytes, first int64) {
	for _, o := range st.over {
		count, bytes = count+o.count, bytes+o.bytes
		if first == 0 || o.from < first {
			first = o.from
		}
	}
	return count, bytes, first
}
