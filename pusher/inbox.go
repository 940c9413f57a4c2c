package pusher

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"postrider/subscriptions"
)

// grant is what the pushes of one lease have in common.
type grant struct {
	sub    subscriptions.Subscription
	target *target
	until  time.Time
	work   context.Context
	ctx    context.Context // ends with work, and at until
	cancel context.CancelFunc
	left   atomic.Int32 // pushes that are not over
}

func newGrant(work context.Context, l subscriptions.PushLease, t *target) *grant {
	g := &grant{sub: l.Subscription, target: t, until: l.Until, work: work}
	g.ctx, g.cancel = context.WithDeadline(work, l.Until)
	g.left.Store(int32(len(l.Deliveries)))
	return g
}

// over says that one of the pushes is.
func (g *grant) over() {
	if g.left.Add(-1) == 0 {
		g.cancel()
	}
}

// push is one attempt to deliver a message, and how it ended.
type push struct {
	*grant
	receipt subscriptions.Receipt
	attempt int
	began   time.Time
	probe   bool // of an endpoint whose breaker is open

	took     time.Duration
	answer   answer
	reason   reason
	terminal *subscriptions.Delivery // what is refused for good
	atLeast  time.Duration           // how long a refused message waits at least
}

// inbox takes what happens to a worker from other goroutines. While the worker
// is busy it fills; whatever is in it then is settled together.
type inbox struct {
	// ready holds a token when there is something to take.
	ready chan struct{}

	mu sync.Mutex
	news
}

// news is what an inbox holds.
type news struct {
	ends []end
	sub  subscriptions.Subscription
}

// end is news of a push: its outcome is known, its exchange is over, or both.
type end struct {
	*push
	known, over bool
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

// ended tells of an outcome, and whether the exchange is over with it.
func (i *inbox) ended(p *push, over bool) { i.add(end{p, true, over}) }

// freed tells that an exchange is over whose outcome was known before.
func (i *inbox) freed(p *push) { i.add(end{p, false, true}) }

func (i *inbox) add(e end) {
	i.mu.Lock()
	i.ends = append(i.ends, e)
	i.mu.Unlock()
	signal(i.ready)
}

// configure tells of a newer configuration.
func (i *inbox) configure(sub subscriptions.Subscription) {
	i.mu.Lock()
	i.sub = sub
	i.mu.Unlock()
	signal(i.ready)
}

// signal leaves a token, if there is none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take empties the inbox.
func (i *inbox) take() news {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.news
	i.news = news{}
	return n
}
