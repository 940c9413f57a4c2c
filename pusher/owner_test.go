package pusher

import (
	"sync"

	"postrider/subscriptions"
)

// ownership is a Service that owns what it is told to.
type ownership struct {
	*subscriptions.Service
	mu    sync.Mutex
	owned []subscriptions.Subscription
	fn    func([]subscriptions.Subscription)
}

func (o *ownership) Owned(fn func([]subscriptions.Subscription)) (stop func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fn = fn
	fn(o.owned)
	return func() { o.set() }
}

func (o *ownership) set(owned ...subscriptions.Subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owned = owned
	if o.fn != nil {
		o.fn(owned)
	}
}
