package pusher

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// What the store keeps of a breaker. It is read before a worker's first lease,
// and, while the breaker is open, now and then when the worker is woken, since
// that may be because somebody closed it by hand.

// recalled is what the store keeps, or that it was closed by hand.
type recalled struct {
	subscriptions.Breaker
	err error
}

// recall asks what the store keeps.
func (w *worker) recall(fetch context.Context) {
	sub, reply := w.sub, make(chan recalled, 1)
	w.recalled, w.recallAt = reply, time.Now().Add(recallEvery)
	w.steps.Go(func() {
		b, err := w.backend.PushBreaker(fetch, sub)
		reply <- recalled{b, err}
	})
}

// remember goes on from what the store keeps.
func (w *worker) remember(fetch context.Context, r recalled) {
	b := &w.flow.breaker
	switch {
	case r.err != nil:
		if fetch.Err() == nil {
			w.storeFailed("read the circuit breaker", r.err)
		}
		return
	case w.fresh && r.Open && r.Endpoint == endpointMark(w.target.endpoint):
		b.recall(r.Breaker)
	case w.fresh && r.Open:
		b.unkept = true // it is of another endpoint
	case !w.fresh && !r.Open && !b.unkept && w.kept == nil:
		w.closeBreaker()
	}
	w.fresh, w.looking = false, false
	w.storeWorks()
}

// closeBreaker closes it as by hand.
func (w *worker) closeBreaker() {
	if w.flow.breaker.state == breakerClosed {
		return
	}
	w.logBreaker(hasClosed, nil)
	w.flow.restart()
	w.hungry = !w.leaving
}

// kept is whether the store keeps what it was told to.
type kept struct {
	kept bool
	err  error
}

// keep tells the store of a change.
func (w *worker) keep(work context.Context) {
	b := &w.flow.breaker
	if !b.unkept || w.kept != nil || time.Now().Before(w.storeUntil) {
		return
	}
	b.unkept = false
	sub, state, reply := w.sub, b.kept(w.target.endpoint), make(chan kept, 1)
	w.kept = reply
	w.steps.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(work), settleTime)
		defer cancel()
		ok, err := w.backend.KeepPushBreaker(ctx, sub, state)
		reply <- kept{ok, err}
	})
}

func (w *worker) noteKept(k kept) {
	switch {
	case k.err != nil && subscriptions.CodeOf(k.err) != subscriptions.FailedPrecondition:
		w.flow.breaker.unkept = !w.leaving
		w.storeFailed("keep the circuit breaker", k.err)
	case k.err == nil && !k.kept:
		w.closeBreaker()
	}
}
