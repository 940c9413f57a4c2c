package memory

import (
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

// Sweep implements subscriptions.DeadLetters.
func (s *Store) Sweep(_ context.Context, r subscriptions.SweepRequest) (result subscriptions.SweepResult, err error) {
	err = s.onState(r.Ref, func(st *state) {
		st.retain = millis(r.Retain)
		s.appendDue(st.slot)
		st.skipOld(s.now, r.Rules)
		st.dropOldSource(s.now, r.Rules)
		st.refill(r.Rules)
		st.dropOld(s.now, r.Rules)
		st.expire(s.now, r.Rules, r.Jitter)
		next, more := st.sweepLate(r.Rules)
		result.Review = st.review(r.Review, r.Rules)
		result.Dead = st.takeDead(s.now, r)
		st.slot.trim(s.now)

		result.More = len(st.source) == 0 && len(st.hungry()) > 0 && len(st.messages) < r.Rules.Outstanding ||
			r.Max > 0 && st.dead.count(s.now) > 0 || st.leases.count(s.now) > 0 || st.anyOld(s.now, r.Rules) ||
			slices.ContainsFunc(st.source, func(u unacked) bool { return st.outlived(u.id, s.now, r.Rules) })
		result.More = result.More || more || st.slot.nextDelayed(s.now) == 0
		result.NextDue = st.nextSweep(s.now, r.Max > 0)
		if next > 0 && (result.NextDue < 0 || until(s.now, next) < result.NextDue) {
			result.NextDue = until(s.now, next)
		}
		result.Unused, result.OldestAge = until(st.used, s.now), st.oldestAge(s.now)
	})
	return result, err
}

// dropOld drops what is outstanding and outlived the retention.
func (st *state) dropOld(now int64, r subscriptions.Rules) {
	for range stepMax {
		i := slices.IndexFunc(st.all.items, func(m *outstanding) bool { return st.outlived(m.id, now, r) })
		if i < 0 {
			return
		}
		st.fetch(st.all.items[i], now, r)
	}
}

// dropOldSource drops what the source has of such.
func (st *state) dropOldSource(now int64, r subscriptions.Rules) {
	for range stepMax {
		i := slices.IndexFunc(st.source, func(u unacked) bool { return st.outlived(u.id, now, r) })
		if i < 0 {
			return
		}
		st.source = slices.Concat(st.source[i:i+1], st.source[:i], st.source[i+1:])
		st.fromSource(now, r)
	}
}

// anyOld tells whether something outstanding outlived the retention; the oldest comes first.
func (st *state) anyOld(now int64, r subscriptions.Rules) bool {
	return slices.ContainsFunc(st.all.items, func(m *outstanding) bool { return st.outlived(m.id, now, r) })
}

// takeDead returns dead messages that nobody is moving, and holds them. Those which the rules no longer call dead become
// due instead.
func (st *state) takeDead(now int64, r subscriptions.SweepRequest) []subscriptions.Delivery {
	var taken []subscriptions.Delivery
	for _, m := range st.dead.upTo(now, stepMax) {
		late := false
		if e, ok := st.get(m.id); ok && !m.exhausted(r.Rules) {
			late = e.isLate(now)
		}
		if late && !r.Rules.DeadLetterLate {
			st.endLate(m, r.Rules)
			continue
		}
		if !late && !m.exhausted(r.Rules) {
			st.sendBack(m) // it may have been seized under its lease
			st.put(m, waiting, now)
			continue
		}
		if len(taken) >= r.Max {
			continue // not the end: those behind it may have to be revived
		}
		if e, ok := st.fetch(m, now, r.Rules); ok {
			st.put(m, dead, now+millis(r.Hold))
			d := st.delivery(m, e)
			d.Failed = slices.Clone(m.attempts)
			d.Late = late
			taken = append(taken, d)
		}
	}
	slices.SortFunc(taken, func(x, y subscriptions.Delivery) int { return x.Place().Compare(y.Place()) })
	return taken
}

// review looks at a part of the waiting messages for those that have had all attempts by now, and returns where to go on;
// negative at the end.
func (st *state) review(from int, r subscriptions.Rules) int {
	if from < 0 || from >= len(st.waits.items) {
		return -1
	}
	part := slices.Clone(st.waits.items[from:min(from+stepMax, len(st.waits.items))])
	for _, m := range part {
		if m.exhausted(r) {
			st.put(m, dead, m.at)
		} else {
			from++
		}
	}
	if len(part) < stepMax {
		return -1
	}
	return from
}

// nextSweep is when there is next something to do for a sweep, which takes dead messages or not; negative without.
func (st *state) nextSweep(now int64, takes bool) time.Duration {
	next, lines := time.Duration(-1), []*ordered{&st.leases}
	if takes {
		lines = append(lines, &st.dead)
	}
	for _, line := range lines {
		if at, ok := line.next(now); ok && (next < 0 || until(now, at) < next) {
			next = until(now, at)
		}
	}
	return next
}
