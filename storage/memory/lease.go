package memory

import (
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

// Lease implements subscriptions.Leases.
func (s *Store) Lease(_ context.Context, r subscriptions.LeaseRequest) (result subscriptions.LeaseResult, err error) {
	err = s.onState(r.Ref, func(st *state) {
		if r.Use {
			st.used = s.now
		}
		s.appendDue(st.slot)
		passed := st.dropped + st.filtered + st.late
		a := answer{state: st, now: s.now, until: s.now + millis(r.Deadline), maxBytes: r.MaxBytes, run: r.Run, runs: map[uint64]int{}}
		st.expire(s.now, r.Rules, r.Jitter)
		limit := min(max(r.Max, 1), stepMax)
		st.skipOld(s.now, r.Rules)
		st.refill(r.Rules)
		quota := limit
		if st.undelivered() > 0 || len(st.source) > 0 {
			quota = half(limit, r.Jitter)
		}
		a.redeliver(quota, r.Rules)
		a.restore(limit, r.Rules)
		a.deliver(limit, r.Rules)
		if len(a.deliveries) == 0 && quota == 0 { // nothing new could be leased
			a.redeliver(limit, r.Rules)
		}
		if st.dropped+st.filtered+st.late > passed {
			st.slot.trim(s.now)
		}

		result.Deliveries = a.deliveries
		room := len(st.messages) < r.Rules.Outstanding
		news := st.undelivered() > 0 || len(st.source) > 0 || len(st.hungry()) > 0
		st.bound = 0
		if news && !room {
			st.bound = r.Rules.Outstanding
		}
		result.NextDue = -1
		at, ok := st.head()
		result.More = ok && at <= s.now || room && news
		if ok {
			result.NextDue = until(s.now, at)
		}
		if next := st.slot.nextDelayed(s.now); next >= 0 && (!ok || next < result.NextDue) {
			result.NextDue = next
			result.More = result.More || next == 0
		}
	})
	return result, err
}

// expire is the first part of a lease and of a sweep: leases that ran out become waiting from their deadline plus the delay
// of the retry policy, or dead when that was the last attempt.
func (st *state) expire(now int64, r subscriptions.Rules, jitter float64) {
	st.max = r.MaxAttempts
	delays := delays{r.Retry, jitter, 0}
	for _, m := range st.leases.upTo(now, stepMax) {
		if m.phase != leased {
			continue // one before it in its queue sent it back
		}
		st.expired++
		st.fail(m, m.at, subscriptions.Failure{Reason: subscriptions.ReasonExpired}, m.at+millis(delays.after(m, r)))
	}
}

// delays gives the failed messages of a step their delays, spread by one random number.
type delays struct {
	retry  []subscriptions.Span
	jitter float64
	count  int
}

// after is the delay of m, of which there is none when m is dead.
func (d *delays) after(m *outstanding, r subscriptions.Rules) time.Duration {
	if m.exhausted(r) {
		return 0
	}
	d.count++
	return subscriptions.SpanOf(d.retry, m.attempt()).At(subscriptions.Jitter(d.jitter, d.count-1))
}

// answer collects what a step leases.
type answer struct {
	state      *state
	now, until int64
	maxBytes   int
	bytes      int64
	deliveries []subscriptions.Delivery
	run        int            // how many of one key may be leased
	runs       map[uint64]int // how many of each key are
	looked     int            // messages looked at in the source and ahead of the cursor, of those that match
	page       page
}

// fits tells whether a message has room; the first one always has.
func (a *answer) fits(size int64) bool {
	return len(a.deliveries) == 0 || a.bytes+size <= int64(a.maxBytes)
}

// lease hands out m.
func (a *answer) lease(m *outstanding, e entry) {
	m.number++
	a.state.put(m, leased, a.until)
	a.bytes += m.size
	a.runs[m.key]++
	a.deliveries = append(a.deliveries, a.state.delivery(m, e))
}

func (st *state) delivery(m *outstanding, e entry) subscriptions.Delivery {
	d := subscriptions.Delivery{
		Message: cloneMessage(e.message),
		Number:  m.number,
		Attempt: m.attempt(),
		Epoch:   st.epoch,
		Key:     m.key,
	}
	if e.id != e.message.ID {
		d.LogID = e.id
	}
	return d
}

// half is what redeliveries may take of an answer while there are new messages, which a heap of failing messages must not
// hold up. The odd one of two halves falls to either, so that of a lease of one, too, both have their turn.
func half(limit int, jitter float64) int {
	if jitter < 0.5 {
		limit++
	}
	return limit / 2
}

// redeliver leases what waited, the longest due first.
func (a *answer) redeliver(limit int, r subscriptions.Rules) {
	st := a.state
	for _, m := range st.waits.upTo(a.now, stepMax) {
		if len(a.deliveries) >= limit {
			break
		}
		if m.exhausted(r) { // the number of attempts was lowered while it waited
			st.bury(m, a.now)
			continue
		}
		e, ok := st.fetch(m, a.now, r)
		if !ok {
			continue
		}
		if e.isLate(a.now) {
			st.endLate(m, r)
			continue
		}
		if !a.fits(m.size) {
			break
		}
		a.lease(m, e)
		if !a.follow(m, limit, r) {
			break
		}
	}
	slices.SortFunc(a.deliveries, func(x, y subscriptions.Delivery) int { return x.Place().Compare(y.Place()) })
}

// follow leases parked messages behind m as one run with it. It tells whether the answer has room for more.
func (a *answer) follow(m *outstanding, limit int, r subscriptions.Rules) bool {
	for _, next := range a.state.behind(m) {
		if a.runs[m.key] >= a.run || next.exhausted(r) {
			return true
		}
		if len(a.deliveries) == limit {
			return false
		}
		e, ok := a.state.fetch(next, a.now, r)
		if !ok {
			continue
		}
		if e.isLate(a.now) {
			if r.DeadLetterLate {
				return true // it must be the head of its key before it is dead
			}
			a.state.endLate(next, r)
			continue
		}
		if !a.fits(next.size) {
			return false
		}
		a.lease(next, e)
	}
	return true
}

// leads tells whether a message of this key that comes now may be leased: as the first of its key, or because all before it
// are leased by this answer.
func (a *answer) leads(key uint64) bool { return a.state.over[key] == nil && a.leadsQueue(key) }

// leadsQueue is leads for a message that is older than what its key left in the log.
func (a *answer) leadsQueue(key uint64) bool {
	q := a.state.keys[key]
	return key == 0 || q == nil || a.runs[key] == len(q.items) && a.runs[key] < a.run
}

// fetch reads an outstanding message. One that vanished from the log, or outlived the retention, is taken out and counted.
func (st *state) fetch(m *outstanding, now int64, r subscriptions.Rules) (entry, bool) {
	e, ok := st.get(m.id)
	switch {
	case !ok:
		st.take(m)
		st.lost++
	case st.outlived(m.id, now, r):
		st.take(m)
		st.dropped++
		ok = false
	}
	return e, ok
}

// outlived tells whether a message is older than the retention, the longer one of the subscription's and the topic's.
func (st *state) outlived(id subscriptions.MessageID, now int64, r subscriptions.Rules) bool {
	return st.since(id) < now-max(millis(r.Retention), st.slot.retention)
}

// restore leases messages of the source.
func (a *answer) restore(limit int, r subscriptions.Rules) {
	st := a.state
	for len(st.source) > 0 && len(a.deliveries) < limit && len(st.messages) < r.Outstanding && a.looked < stepMax {
		e, ok := st.get(st.source[0].id)
		key := keyOf(e.message, r)
		leads := a.leadsQueue(key)
		if ok && leads && !st.outlived(e.id, a.now, r) && !e.isLate(a.now) && !a.fits(e.size) {
			return
		}
		a.looked++
		if !st.fromSource(a.now, r) {
			continue
		}
		back := st.letters[e.id].at // higher than any number that it had
		m := &outstanding{id: e.id, size: e.size, key: key, number: back, released: back}
		switch {
		case e.isLate(a.now):
			st.addLate(m)
		case leads:
			a.lease(m, e)
		default:
			st.park(m)
		}
	}
}

// fromSource takes the next message from the source. It is false for one that vanished, is too old or late, which is counted.
func (st *state) fromSource(now int64, r subscriptions.Rules) bool {
	id := st.source[0].id
	st.source = st.source[1:]
	e, ok := st.get(id)
	switch {
	case !ok:
		st.lost++
	case st.outlived(id, now, r):
		delete(st.letters, id)
		st.dropped++
	case e.isLate(now) && !r.DeadLetterLate:
		st.late++
	default:
		return true
	}
	return false
}

// deliver leases messages ahead of the cursor, once the source is empty.
func (a *answer) deliver(limit int, r subscriptions.Rules) {
	st := a.state
	if len(st.source) > 0 {
		return
	}
	if r.Match != nil && (len(a.deliveries) >= limit || len(st.messages) >= r.Outstanding || a.looked >= stepMax) {
		return // looking ahead is for leasing
	}
	a.page = newPage(limit)
	for _, e := range st.slot.log.after(st.cursor.n) {
		if r.Match != nil && a.page.over() {
			return
		}
		if !r.Match.Matches(e.message.Attributes) {
			a.page.looked++
			st.pass(e)
			continue
		}
		m := &outstanding{id: e.id, size: e.size, key: keyOf(e.message, r)}
		leads := a.leads(m.key)
		leave := !leads && st.overflows(m.key, r)
		late := e.isLate(a.now)
		if len(a.deliveries) >= limit || len(st.messages) >= r.Outstanding || a.looked >= stepMax || leads && !late && !a.fits(e.size) {
			return
		}
		a.looked++
		a.page.looked, a.page.matched = a.page.looked+1, a.page.matched+1
		st.lost += e.at.n - st.cursor.n - 1
		st.cursor = e.at
		switch {
		case leave:
			st.leave(m.key, e)
		case late && !r.DeadLetterLate:
			st.late++
		case late:
			st.addLate(m)
		case leads:
			a.lease(m, e)
		default:
			st.park(m)
		}
	}
	// The log ended: what the count says lies ahead is not there.
	st.lost += st.undelivered()
	st.cursor = st.slot.log.end
}

// skipOld moves the cursor over what outlived the retention. What keys left in the log, and the source, are older still and go,
// too.
func (st *state) skipOld(now int64, r subscriptions.Rules) {
	for _, e := range st.slot.log.after(st.cursor.n) {
		if !st.outlived(e.id, now, r) {
			return
		}
		st.dropped += e.at.n - st.cursor.n
		st.cursor = e.at
		left, _, _ := st.left()
		st.dropped += left + int64(len(st.source))
		clear(st.over)
		st.dropSource()
	}
}
