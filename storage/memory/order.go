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
	if st.max > 0 && m.attempt() >= st.max {
		st.bury(m, st.now)
	} else {
		st.put(m, waiting, st.now)
	}
}

// park puts m, that was leased or is new, behind the others of its key.
func (st *state) park(m *outstanding) { st.put(m, parked, 0) }

// remember keeps that an attempt at m failed.
func (m *outstanding) remember(number int, at int64, why subscriptions.Failure) {
	m.attempts = subscriptions.AddAttempt(subscriptions.Attempt{Number: number, Time: timeOf(at), Failure: why}, m.attempts)
}

// fail ends the lease of m without an ack, for a reason: m waits until at, or is dead when that was its last attempt. All that follows in
// its queue comes again after it.
func (st *state) fail(m *outstanding, failed int64, why subscriptions.Failure, at int64) {
	m.remember(m.attempt(), failed, why)
	m.failedFirst = cmp.Or(m.failedFirst, failed)
	st.sendBack(m)
	switch {
	case !st.isHead(m):
		st.park(m)
	case st.max > 0 && m.attempt() >= st.max:
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
		st.over[key] = &overflow{from: e.at.n, milli: e.id.Milli}
	}
	st.over[key].count++
	st.over[key].bytes += e.size
}

// hungry are the keys whose queues are to be filled, the one that is furthest behind first.
func (st *state) hungry() (keys []uint64) {
	for k := range st.over {
		if st.keys[k] == nil {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(st.over[a].from, st.over[b].from), cmp.Compare(a, b))
	})
	return keys
}

// refill, when the source is empty, reads on from where the hungry key that is furthest behind may have left something, and fills the queues of all
// hungry keys that it meets.
func (st *state) refill(r subscriptions.Rules) {
	hungry := st.hungry()
	if len(hungry) == 0 || len(st.source) > 0 {
		return
	}
	var at entry // how far all was looked at
	looked, ended := 0, true
	filled := map[uint64]int{}
	full := map[uint64]bool{}
	for _, e := range st.slot.log.after(st.over[hungry[0]].from - 1) {
		if e.at.n > st.cursor.n {
			break
		}
		if looked == stepMax || len(st.messages) >= r.Outstanding {
			ended = false
			break
		}
		looked++
		at = e
		key := e.message.KeyHash() // a snapshot may have brought what was left from where order was kept
		switch o := st.over[key]; {
		case o == nil || e.at.n < o.from || !slices.Contains(hungry, key) || !r.Match.Matches(e.message.Attributes):
		case filled[key] == refillMax:
			full[key] = true
		default:
			filled[key] += st.takeBack(o, key, e, r)
		}
	}
	ended = ended && looked < stepMax
	advanced := 0
	for _, key := range hungry {
		o := st.over[key]
		_, met := filled[key]
		switch {
		case met && o.count == 0, ended && !full[key] && (met || advanced < stepMax):
			st.lost += o.count
			delete(st.over, key)
		case looked > 0 && o.from <= at.at.n && !full[key] && (met || advanced < stepMax):
			o.from, o.milli = at.at.n+1, at.id.Milli
		default:
			continue
		}
		if !met {
			advanced++
		}
	}
}

// takeBack puts a message that was left in the log into its key's queue, unless it is too old, and counts those.
func (st *state) takeBack(o *overflow, key uint64, e entry, r subscriptions.Rules) int {
	o.count--
	o.bytes -= e.size
	o.from, o.milli = e.at.n+1, e.id.Milli
	if st.outlived(e.id, st.now, r) {
		st.dropped++
		return 0
	}
	if e.isLate(st.now) && !r.DeadLetterLate {
		st.late++
		return 0
	}
	m := &outstanding{id: e.id, size: e.size, key: key}
	st.park(m)
	if len(st.keys[key].items) == 1 {
		st.promote(m)
	}
	return 1
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
