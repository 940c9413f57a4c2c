package memory

import (
	"context"
	"math"
	"slices"

	"postrider/subscriptions"
)

// Peek implements subscriptions.Peeks.
func (s *Store) Peek(_ context.Context, r subscriptions.PeekRequest) (result subscriptions.PeekResult, err error) {
	err = s.onState(r.Ref, func(st *state) {
		p := peek{limit: min(max(r.Max, 1), stepMax), rules: r.Rules, state: st}
		p.result.End = st.slot.log.endID()
		from := r.After
		for _, part := range []func(subscriptions.MessageID) bool{p.behind, p.left, p.ahead} {
			if from.Part == subscriptions.PeekPart(p.part) {
				p.result.Next = from
				if !part(from.ID) {
					p.result.More = true
					break
				}
				from = subscriptions.PeekPlace{Part: from.Part + 1}
			}
			p.part++
		}
		result = p.result
	})
	return result, err
}

// PeekLog implements subscriptions.Peeks.
func (s *Store) PeekLog(_ context.Context, topic string, after subscriptions.MessageID, limit int) (result subscriptions.PeekResult, err error) {
	s.begin()
	defer s.end()
	t := s.slots[topic]
	if t == nil {
		return result, nil
	}
	p := peek{limit: min(max(limit, 1), stepMax)}
	p.result.End = t.log.endID()
	p.result.Next = subscriptions.PeekPlace{ID: after}
	for _, e := range t.log.entries {
		if e.id.Compare(after) <= 0 {
			continue
		}
		if p.full() {
			p.result.More = true
			break
		}
		p.pass(e.id)
		p.result.Messages = append(p.result.Messages, subscriptions.Peeked{Delivery: subscriptions.Delivery{Message: cloneMessage(e.message)}, State: subscriptions.PeekNew})
	}
	return p.result, nil
}

// endID is an id that is higher than that of every message up to now, and lower than those to come.
func (l *log) endID() subscriptions.MessageID {
	return subscriptions.NewMessageID(l.last, l.end.n, 9_999)
}

// peek is one look at unacked messages. Each of its parts tells whether it came to its end.
type peek struct {
	state  *state
	rules  subscriptions.Rules
	limit  int
	looked int
	part   int
	result subscriptions.PeekResult
}

func (p *peek) full() bool { return p.looked == p.limit }

// pass notes that a message was looked at.
func (p *peek) pass(id subscriptions.MessageID) {
	p.looked++
	p.result.Next = subscriptions.PeekPlace{Part: subscriptions.PeekPart(p.part), ID: id}
}

// behind is what is outstanding, or was before a seek.
func (p *peek) behind(after subscriptions.MessageID) bool {
	st := p.state
	ids := []subscriptions.MessageID{}
	for id := range st.messages {
		ids = append(ids, id)
	}
	for _, u := range st.source {
		ids = append(ids, u.id)
	}
	slices.SortFunc(ids, subscriptions.MessageID.Compare)
	for _, id := range ids {
		if id.Compare(after) <= 0 {
			continue
		}
		if p.full() {
			return false
		}
		p.pass(id)
		e, ok := st.get(id)
		m := st.messages[id]
		switch {
		case !ok || st.outlived(id, st.now, p.rules) || m != nil && m.phase == acked:
		case m == nil:
			p.show(e, &outstanding{}, subscriptions.PeekNew)
		default:
			p.show(e, m, peekStates[m.phase])
		}
	}
	return true
}

var peekStates = map[phase]subscriptions.PeekState{
	leased: subscriptions.PeekLeased, waiting: subscriptions.PeekWaiting, dead: subscriptions.PeekDead, parked: subscriptions.PeekParked,
}

func (p *peek) show(e entry, m *outstanding, state subscriptions.PeekState) {
	d := p.state.delivery(m, e)
	d.Key = keyOf(e.message, p.rules)
	d.Failed = slices.Clone(m.attempts)
	shown := subscriptions.Peeked{Delivery: d, State: state}
	if state == subscriptions.PeekLeased || state == subscriptions.PeekWaiting {
		shown.Next = timeOf(m.at)
	}
	p.result.Messages = append(p.result.Messages, shown)
}

// left is what ordering keys left in the log.
func (p *peek) left(after subscriptions.MessageID) bool {
	st := p.state
	_, _, first := st.left()
	if first == 0 {
		return true
	}
	return p.entries(first-1, after, st.cursor.n, func(e entry) bool {
		o := st.over[e.message.KeyHash()]
		return o != nil && e.at.n >= o.from
	})
}

// ahead is what lies ahead of the cursor.
func (p *peek) ahead(after subscriptions.MessageID) bool {
	return p.entries(p.state.cursor.n, after, math.MaxInt64, func(entry) bool { return true })
}

// entries shows those of the log, after a place and an id, up to another place, that match.
func (p *peek) entries(from int64, after subscriptions.MessageID, to int64, which func(entry) bool) bool {
	entries := p.state.slot.log.after(from)
	i, found := slices.BinarySearchFunc(entries, after, func(e entry, id subscriptions.MessageID) int { return e.id.Compare(id) })
	if found {
		i++
	}
	for _, e := range entries[i:] {
		if e.at.n > to {
			break
		}
		if p.full() {
			return false
		}
		p.pass(e.id)
		if which(e) && !p.state.outlived(e.id, p.state.now, p.rules) && p.rules.Match.Matches(e.message.Attributes) {
			p.show(e, &outstanding{}, subscriptions.PeekNew)
		}
	}
	return true
}
