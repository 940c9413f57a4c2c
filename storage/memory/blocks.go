package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

// Blocked implements subscriptions.Blocks.
func (s *Store) Blocked(_ context.Context, r subscriptions.BlocksRequest) (result subscriptions.BlocksResult, err error) {
	err = s.onState(r.Ref, func(st *state) {
		var last subscriptions.BlockPlace
		for _, m := range st.blocked() {
			place := placeOf(m)
			if r.Key != 0 && m.key != r.Key || comparePlaces(place, r.After) <= 0 {
				continue
			}
			if len(result.Blocks) == min(max(r.Max, 1), stepMax) {
				result.More, result.Next = true, last
				return
			}
			if e, ok := st.get(m.id); ok {
				result.Blocks = append(result.Blocks, st.block(m, e))
			}
			last = place
		}
	})
	return result, err
}

// Seize implements subscriptions.Blocks.
func (s *Store) Seize(_ context.Context, ref subscriptions.Ref, r subscriptions.Receipt, hold time.Duration) (seized bool, err error) {
	err = s.onState(ref, func(st *state) {
		m := st.find(r)
		if seized = m != nil && st.isHead(m) && !(m.phase == dead && m.at > s.now); seized {
			st.put(m, dead, s.now+millis(hold))
		}
	})
	return seized, err
}

// blocked are the heads of ordering keys that have failed, in order of when they did first.
func (st *state) blocked() (heads []*outstanding) {
	for _, q := range st.keys {
		if head := q.items[0]; head.failedFirst > 0 {
			heads = append(heads, head)
		}
	}
	slices.SortFunc(heads, func(a, b *outstanding) int { return comparePlaces(placeOf(a), placeOf(b)) })
	return heads
}

// blockedKeys sums the blocked keys up.
func (st *state) blockedKeys() subscriptions.BlockedKeys {
	heads := st.blocked()
	if len(heads) == 0 {
		return subscriptions.BlockedKeys{}
	}
	n := min(len(heads), subscriptions.MaxSurveyedKeys)
	b := subscriptions.BlockedKeys{Keys: n, More: len(heads) > n, Since: timeOf(heads[0].failedFirst)}
	if len(heads[0].attempts) > 0 {
		b.Failed = heads[0].attempts[0]
	}
	return b
}

func placeOf(m *outstanding) subscriptions.BlockPlace {
	return subscriptions.BlockPlace{Milli: m.failedFirst, ID: m.id, Key: m.key}
}

func comparePlaces(a, b subscriptions.BlockPlace) int {
	return cmp.Or(cmp.Compare(a.Milli, b.Milli), a.ID.Compare(b.ID))
}

func (st *state) block(m *outstanding, e entry) subscriptions.Block {
	b := subscriptions.Block{
		Head:   st.delivery(m, e),
		Since:  timeOf(m.failedFirst),
		Next:   timeOf(m.at),
		Behind: int64(len(st.keys[m.key].items)) - 1,
	}
	b.Head.Failed = slices.Clone(m.attempts)
	switch m.phase {
	case leased:
		b.State = subscriptions.BlockTried
	case waiting:
		b.State = subscriptions.BlockWaiting
	default:
		b.State = subscriptions.BlockDead
	}
	if o := st.over[m.key]; o != nil {
		b.Behind += o.count
	}
	return b
}
