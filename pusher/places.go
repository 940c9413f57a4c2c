package pusher

import "sync/atomic"

// DefaultMaxPushes is how many pushes may be out at once on one server.
const DefaultMaxPushes = 10_000

// places are what the workers of a server share: so many pushes may be out, or
// on their way from the store, at once. A worker may have as many as are free.
// So one takes half of all at most, two take a third each, and something is
// always left for the next that comes (the dynamic threshold of Choudhury and
// Hahne, 1998): endpoints that hang do not keep others from their pushes. And
// each may always have one.
type places struct {
	most  int64
	taken atomic.Int64
}

// take asks for up to n more places for a worker that has held of them.
func (p *places) take(n, held int) int {
	for {
		taken := p.taken.Load()
		more := min(int64(n), (p.most-taken-int64(held))/2)
		if held == 0 {
			more = max(more, 1)
		}
		if more <= 0 {
			return 0
		}
		if p.taken.CompareAndSwap(taken, taken+more) {
			return int(more)
		}
	}
}

func (p *places) giveBack(n int) { p.taken.Add(int64(-n)) }
