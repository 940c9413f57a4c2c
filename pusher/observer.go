package pusher

import (
	"context"
	"maps"
	"net/http"
	"time"

	"postrider/subscriptions"
)

// Observer hears of pushes: for counters and traces. Its methods may be called
// from any goroutine, and must not block.
type Observer interface {
	// Pushing is called before a message is POSTed. It may return headers to send
	// with it, and what to call with the outcome; nil is nothing.
	Pushing(context.Context, subscriptions.Subscription, subscriptions.Delivery) (http.Header, func(Pushed))
}

// Pushed is what came of a push.
type Pushed struct {
	// Outcome is ACKED, REFUSED, UNREACHABLE, TIMED_OUT, BLOCKED, TERMINAL or
	// RELEASED, which is no attempt.
	Outcome string
	// Status is what the endpoint answered; 0 without an answer.
	Status int
	Took   time.Duration
}

// Accepted tells whether the message is acked.
func (p Pushed) Accepted() bool { return p.Outcome == string(outAcked) }

// observed is the target of one attempt with the observer's headers, and what to
// call with the outcome.
func (w *worker) observed(ctx context.Context, p *push, d subscriptions.Delivery) (http.Header, func()) {
	if w.observer == nil {
		return nil, func() {}
	}
	header, done := w.observer.Pushing(ctx, p.sub, d)
	return header, func() {
		if done != nil {
			done(Pushed{Outcome: string(p.reason.outcome()), Status: p.answer.status, Took: p.took})
		}
	}
}

// with is the target with more headers.
func (t *target) with(more http.Header) *target {
	if len(more) == 0 || t.err != nil {
		return t
	}
	one := *t
	one.header = maps.Clone(t.header)
	maps.Copy(one.header, more)
	return &one
}
