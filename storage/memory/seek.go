package memory

import (
	"context"
	"maps"
	"slices"

	"postrider/subscriptions"
)

// unacked is a message that is to be delivered although it lies behind the cursor.
type unacked struct {
	id   subscriptions.MessageID
	size int64
}

func sizesOf(messages []unacked) (sum int64) {
	for _, m := range messages {
		sum += m.size
	}
	return sum
}

// place is where a subscription stands: all that is unacked follows from it.
type place struct {
	cursor position
	source []unacked
	over   map[uint64]*overflow
	// letters are the redriven messages of source.
	letters map[subscriptions.MessageID]letter
}

// place is where st stands, with what is outstanding as the source.
func (st *state) place() place {
	p := place{cursor: st.cursor, source: slices.Clone(st.source), over: map[uint64]*overflow{}, letters: maps.Clone(st.letters)}
	for _, m := range st.all.items {
		p.source = append(p.source, unacked{m.id, m.size})
	}
	slices.SortFunc(p.source, func(a, b unacked) int { return a.id.Compare(b.id) })
	for key, o := range st.over {
		left := *o
		p.over[key] = &left
	}
	return p
}

// stand makes st stand at a place, in a new epoch.
func (st *state) stand(at place) {
	st.epoch++
	st.cursor, st.source, st.over, st.letters = at.cursor, at.source, at.over, at.letters
	maps.DeleteFunc(st.letters, func(id subscriptions.MessageID, _ letter) bool { return st.inSource(id) < 0 })
	st.messages, st.keys, st.bytes = map[subscriptions.MessageID]*outstanding{}, map[uint64]*ordered{}, 0
	for _, line := range []*ordered{&st.all, &st.leases, &st.waits, &st.dead} {
		line.items = nil
	}
	st.used, st.bound, st.urgent = st.now, 0, true
}

// Seek implements subscriptions.Seeks.
func (s *Store) Seek(_ context.Context, r subscriptions.SeekRequest) (result subscriptions.SeekResult, err error) {
	var missing error
	err = s.onState(r.Ref, func(st *state) {
		s.appendDue(st.slot)
		var to place
		if r.Snapshot == "" {
			to = st.seekTo(ceilMilli(r.Time), s.now)
		} else {
			snap := st.slot.snapshots[r.Snapshot]
			if snap == nil || snap.expires <= s.now {
				missing = subscriptions.Errorf(subscriptions.NotFound, "the snapshot does not exist")
				return
			}
			to = snap.at.clone()
		}
		if r.ValidateOnly {
			result.UpperBound = st.unsure(to, r.Snapshot != "")
			before, after := st.slot.unacked(st.place()), st.slot.unacked(to)
			result.Unacked, result.Acked = missingIn(before, after), missingIn(after, before)
			return
		}
		st.stand(to)
		st.slot.trim(s.now)
	})
	if missing != nil {
		return result, missing
	}
	return result, err
}

// unsure tells whether a store that looks at no single message can only bound how much going to a place changes: keys left
// messages in the log, now or there. This one could tell, but says what every store says.
func (st *state) unsure(to place, snapshot bool) bool {
	if snapshot {
		return len(st.over) > 0 || len(to.over) > 0
	}
	return len(st.over) > len(to.over)
}

// seekTo is the place where what was published from a time on is unacked, as far as it is retained.
func (st *state) seekTo(milli, now int64) place {
	log := &st.slot.log
	target := log.before(log.since(milli))
	to := target
	if target.n < st.cursor.n {
		to = later(target, st.retainedFrom(now))
	}
	at := st.place()
	if _, _, first := st.left(); first > 0 {
		left := log.before(first)
		if to.n != st.cursor.n || left.n < target.n {
			clear(at.over)
			if left.n < to.n {
				to = later(target, left)
			}
		}
	}
	at.cursor = to
	at.source = slices.DeleteFunc(at.source, func(m unacked) bool {
		return m.id.Milli < milli || m.id.N() > to.n // the log need not have what was redriven, so it cannot tell
	})
	return at
}

// retainedFrom is from where on acked messages are retained: the cursor, when none are.
func (st *state) retainedFrom(now int64) position {
	log, from := &st.slot.log, st.cursor
	if keep := st.slot.retention; keep > 0 {
		from = earlier(from, log.before(log.since(now-keep)))
	}
	if st.retain > 0 {
		from = earlier(from, later(log.before(log.since(now-st.retain)), log.before(st.from.n+1)))
	}
	return from
}

func later(a, b position) position {
	if b.n > a.n {
		return b
	}
	return a
}

func earlier(a, b position) position {
	if b.n < a.n {
		return b
	}
	return a
}

func (p place) clone() place {
	p.source, p.over, p.letters = slices.Clone(p.source), maps.Clone(p.over), maps.Clone(p.letters)
	for key, o := range p.over {
		left := *o
		p.over[key] = &left
	}
	return p
}

// unacked are the numbers of all messages that are unacked at a place.
func (t *slot) unacked(at place) map[int64]bool {
	all := map[int64]bool{}
	for _, m := range at.source {
		all[m.id.N()] = true
	}
	for n := at.cursor.n + 1; n <= t.log.end.n; n++ {
		all[n] = true
	}
	for _, e := range t.log.entries {
		if o := at.over[e.message.KeyHash()]; o != nil && e.at.n >= o.from && e.at.n <= at.cursor.n {
			all[e.at.n] = true
		}
	}
	return all
}

// missingIn counts what is in b and not in a.
func missingIn(a, b map[int64]bool) (count int64) {
	for n := range b {
		if !a[n] {
			count++
		}
	}
	return count
}
