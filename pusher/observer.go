package pusher

import (
	"context"
	"maps"
	"net/http"
	"time"

	"postrider/subscriptions"
)

// Observer hears of pushes: for counters and traces. Its methods may be called
// from any goroutine, must not block, and keep nothing of what they point to.
type Observer interface {
	// Pushing is called before a message is POSTed. It may return headers to send
	// with it, and what else to call with the outcome; nil is nothing.
	Pushing(context.Context, *subscriptions.Subscription, *subscriptions.Delivery) (http.Header, func(Pushed))
	// Pushed is called with the outcome of every push.
	Pushed(*subscriptions.Subscription, Pushed)
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

// announce tells the observer that a message is POSTed now. What it returns are
// the headers to send with it, and what else to call with the outcome.
func (w *worker) announce(ctx context.Context, p *push, d *subscriptions.Delivery) (http.Header, func(Pushed)) {
	if w.observer == nil {
		return nil, nil
	}
	return w.observer.Pushing(ctx, &p.sub, d)
}

// observed tells the observer, and also, of the outcome.
func (w *worker) observed(p *push, also func(Pushed)) {
	if w.observer == nil {
		return
	}
	pushed := Pushed{Outcome: string(p.reason.outcome()), Status: p.answer.status, Took: p.took}
	w.observer.Pushed(&p.sub, pushed)
	if also != nil {
		also(pushed)
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
