package memory

import (
	"cmp"
	"slices"
)

// ordered is a sorted list without duplicates of outstanding messages, as a ZSET is in Redis.
type ordered struct {
	compare func(a, b *outstanding) int
	items   []*outstanding
}

func byLog(a, b *outstanding) int { return a.id.Compare(b.id) }

// byTime orders by when something is to happen.
func byTime(a, b *outstanding) int {
	return cmp.Or(cmp.Compare(a.at, b.at), byLog(a, b))
}

func (o *ordered) add(m *outstanding) {
	i, _ := slices.BinarySearchFunc(o.items, m, o.compare)
	o.items = slices.Insert(o.items, i, m)
}

func (o *ordered) remove(m *outstanding) {
	i, found := slices.BinarySearchFunc(o.items, m, o.compare)
	switch {
	case !found:
	case i == 0: // the usual case, and it moves nothing
		o.items[0] = nil
		o.items = o.items[1:]
	default:
		o.items = slices.Delete(o.items, i, i+1)
	}
}

// head returns the time of the first item, or false when there is none.
func (o *ordered) head() (at int64, ok bool) {
	if len(o.items) == 0 {
		return 0, false
	}
	return o.items[0].at, true
}

// upTo returns a copy of the items due now, at most limit.
func (o *ordered) upTo(now int64, limit int) []*outstanding {
	n := o.count(now)
	return slices.Clone(o.items[:min(n, limit)])
}

// next returns the first time after now, or false when there is none.
func (o *ordered) next(now int64) (at int64, ok bool) {
	if n := o.count(now); n < len(o.items) {
		return o.items[n].at, true
	}
	return 0, false
}

// count is how many items are due now.
func (o *ordered) count(now int64) int {
	n, _ := slices.BinarySearchFunc(o.items, now+1, func(m *outstanding, at int64) int { return cmp.Compare(m.at, at) })
	return n
}
