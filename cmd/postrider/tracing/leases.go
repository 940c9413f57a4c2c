package tracing

import (
	"sync"

	api "go.opentelemetry.io/otel/trace"

	"postrider/subscriptions"
)

// mostLeases bounds how many spans of leases are remembered until the message is settled. Beyond it others are forgotten, whose
// acks then have no span.
const mostLeases = 8192

// leases remember the span of each lease.
type leases struct {
	mu    sync.Mutex
	spans map[leased]api.SpanContext
}

type leased struct {
	subscription string
	message      subscriptions.MessageID
	number       int64
}

func newLeases() *leases { return &leases{spans: map[leased]api.SpanContext{}} }

func (l *leases) add(k leased, c api.SpanContext) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other := range l.spans {
		if len(l.spans) < mostLeases {
			break
		}
		delete(l.spans, other)
	}
	l.spans[k] = c
}

func (l *leases) of(k leased) (api.SpanContext, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.spans[k]
	return c, ok
}

// end is of for the last time.
func (l *leases) end(k leased) (api.SpanContext, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.spans[k]
	delete(l.spans, k)
	return c, ok
}
