package pusher

import (
	"sync"
	"time"

	"postrider/subscriptions"
)

// grant is what the pushes of one lease have in common.
type grant struct {
	sub    subscriptions.Subscription
	target *target
	until  time.Time
}

// push is one attempt to deliver a message, and how it ended.
type push struct {
	*grant
	receipt subscriptions.Receipt
	attempt int
	began   time.Time

	took    time.Duration
	answer  answer
	reason  reason
	atLeast time.Duration // how long a refused message waits at least
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
	ended []*push // pushes whose outcome is known
	freed []*push // pushes whose exchange is over
	sub   subscriptions.Subscription
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

func (i *inbox) put(add func(*news)) {
	i.mu.Lock()
	add(&i.news)
	i.mu.Unlock()
	select {
	case i.ready <- struct{}{}:
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
