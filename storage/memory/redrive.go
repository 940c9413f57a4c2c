package memory

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"postrider/subscriptions"
)

// letter is a redriven message: its entry, which the log need not have any more, and when it came back, in milliseconds.
type letter struct {
	entry entry
	at    int64
}

// get is the entry of a message that is unacked.
func (st *state) get(id subscriptions.MessageID) (entry, bool) {
	if l, ok := st.letters[id]; ok {
		return l.entry, true
	}
	return st.slot.log.get(id)
}

// since is from when on the retention of a message counts.
func (st *state) since(id subscriptions.MessageID) int64 {
	if l, ok := st.letters[id]; ok {
		return l.at
	}
	return id.Milli
}

// dropSource drops the source with what of it was redriven.
func (st *state) dropSource() {
	for _, u := range st.source {
		delete(st.letters, u.id)
	}
	st.source = nil
}

// redrivenSince tells whether a dead message came back since a delivery: a server that was slow to say so had moved it.
func (st *state) redrivenSince(m *outstanding, r subscriptions.Receipt) bool {
	l, ok := st.letters[m.id]
	return ok && r.Number < l.at && m.number >= l.at
}

// returned names a dead letter that was put back.
type returned struct {
	topic string
	id    subscriptions.MessageID
}

func nameOf(l subscriptions.RedriveLetter) returned { return returned{l.Topic, l.ID} }

// Redrive implements subscriptions.Redrives.
func (s *Store) Redrive(_ context.Context, r subscriptions.RedriveRequest) (fates []subscriptions.RedriveFate, err error) {
	err = s.onState(r.Ref, func(st *state) {
		for _, l := range r.Letters {
			fate := subscriptions.RedriveThere
			if st.slot.returned[nameOf(l)] <= s.now {
				if fate = st.putBack(l.PlaceID(), cloneMessage(l.Message), r); fate == subscriptions.RedriveThere {
					st.slot.returned[nameOf(l)] = math.MaxInt64
				}
			}
			fates = append(fates, fate)
		}
		st.slot.trim(s.now)
	})
	return fates, err
}

func (st *state) putBack(id subscriptions.MessageID, m subscriptions.Message, r subscriptions.RedriveRequest) subscriptions.RedriveFate {
	key := keyOf(m, r.Rules)
	switch there := st.messages[id]; {
	case there != nil && there.phase == dead:
		return subscriptions.RedriveBusy
	case there != nil, st.inSource(id) >= 0, st.isAhead(id), st.isLeft(id, key):
		return subscriptions.RedriveThere
	case key != 0 && len(st.source) > 0 && st.source[0].id.Compare(id) < 0: // earlier ones, which may be of its key
		st.letters[id] = letter{entry{id: id, message: m, size: int64(m.Size())}, st.now}
		st.source = append(slices.Clone(st.source), unacked{id, int64(m.Size())})
		slices.SortFunc(st.source, func(a, b unacked) int { return a.id.Compare(b.id) })
		return subscriptions.RedriveThere
	case len(st.messages) >= r.Rules.Outstanding:
		return subscriptions.RedriveFull
	}
	o := &outstanding{id: id, size: int64(m.Size()), key: key, number: st.now, released: st.now}
	first := true
	if q := st.keys[key]; q != nil {
		head := q.items[0]
		first = o.id.Compare(head.id) < 0
		if first && (head.phase == dead || r.KeepLeases && head.phase == leased) {
			return subscriptions.RedriveBusy
		}
		if first && head.phase == waiting {
			st.park(head)
		}
	}
	st.letters[id] = letter{entry{id: id, message: m, size: o.size}, st.now}
	if first {
		st.put(o, waiting, st.now)
	} else {
		st.park(o)
	}
	st.sendBack(o)
	return subscriptions.RedriveThere
}

func (st *state) inSource(id subscriptions.MessageID) int {
	return slices.IndexFunc(st.source, func(u unacked) bool { return u.id == id })
}

func (st *state) isAhead(id subscriptions.MessageID) bool {
	_, ok := st.slot.log.get(id)
	return ok && id.N() > st.cursor.n
}

// isLeft tells whether a key left a message in the log.
func (st *state) isLeft(id subscriptions.MessageID, key uint64) bool {
	o := st.over[key]
	_, ok := st.slot.log.get(id)
	return ok && key != 0 && o != nil && id.N() >= o.from
}

// ForgetRedriven implements subscriptions.Redrives.
func (s *Store) ForgetRedriven(_ context.Context, topic string, letters []subscriptions.RedriveLetter, after time.Duration) error {
	s.begin()
	defer s.end()
	t := s.slots[topic]
	if t == nil {
		return nil
	}
	for _, l := range letters {
		if t.returned[nameOf(l)] > s.now {
			t.returned[nameOf(l)] = s.now + millis(after)
		}
	}
	maps.DeleteFunc(t.returned, func(_ returned, until int64) bool { return until <= s.now })
	return nil
}

// Remove implements subscriptions.Redrives. What lies ahead of the cursor comes last.
func (s *Store) Remove(_ context.Context, r subscriptions.RemoveRequest) (fates []subscriptions.RemoveFate, err error) {
	err = s.onState(r.Ref, func(st *state) {
		fates = make([]subscriptions.RemoveFate, len(r.Receipts))
		var ahead []int
		for i, receipt := range r.Receipts {
			if st.isAhead(receipt.ID) {
				ahead = append(ahead, i)
			} else {
				fates[i] = st.takeAway(receipt)
			}
		}
		for _, i := range ahead {
			receipt := r.Receipts[i]
			if st.isAhead(receipt.ID) {
				st.absorb(receipt.ID, r.Rules)
			}
			fates[i] = st.takeAway(receipt)
		}
		st.slot.trim(s.now)
	})
	return fates, err
}

// takeAway takes a message that is behind the cursor, unless its key left it in the log.
func (st *state) takeAway(r subscriptions.Receipt) subscriptions.RemoveFate {
	i := st.inSource(r.ID)
	switch m := st.messages[r.ID]; {
	case m != nil:
		st.acked++
		st.take(m)
	case i >= 0:
		st.acked++
		delete(st.letters, r.ID)
		st.source = slices.Delete(slices.Clone(st.source), i, i+1)
	case st.isLeft(r.ID, r.Key):
		return subscriptions.RemoveLeft
	default:
		return subscriptions.RemoveGone
	}
	return subscriptions.RemoveTaken
}

// absorb moves the cursor up to a message, and lets what it passes that matches be read from the source instead.
func (st *state) absorb(to subscriptions.MessageID, r subscriptions.Rules) {
	for _, e := range st.slot.log.after(st.cursor.n) {
		if e.at.n > to.N() {
			return
		}
		if !r.Match.Matches(e.message.Attributes) {
			st.pass(e)
			continue
		}
		st.lost += e.at.n - st.cursor.n - 1
		st.cursor = e.at
		if key := keyOf(e.message, r); key != 0 && st.over[key] != nil {
			st.leave(key, e)
		} else {
			st.source = append(st.source, unacked{e.id, e.size})
		}
	}
}

// Discard implements subscriptions.Redrives.
func (s *Store) Discard(_ context.Context, topic string, ids []subscriptions.MessageID) (fates []subscriptions.RemoveFate, err error) {
	s.begin()
	defer s.end()
	t := s.slots[topic]
	if t == nil {
		return nil, subscriptions.ErrGone
	}
	for _, id := range ids {
		fate := subscriptions.RemoveGone
		if len(t.states) > 0 || len(t.snapshots) > 0 {
			fate = subscriptions.RemoveLeft
		} else if _, ok := t.log.get(id); ok {
			fate = subscriptions.RemoveTaken
			t.log.remove(id)
		}
		fates = append(fates, fate)
	}
	return fates, nil
}
