package pusher

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"postrider/pusher/proof"
	"postrider/subscriptions"
)

const (
	// maxBytesOut bounds the messages of one subscription that are in memory
	// to be pushed; a lease adds a few megabytes at most.
	maxBytesOut = 32 << 20
	// A store that is away is asked again after these waits, short enough for an
	// outcome to be settled within its lease.
	minStoreWait = 100 * time.Millisecond
	maxStoreWait = 2 * time.Second
)

// worker pushes the messages of one subscription. Only run's goroutine uses its
// fields, but for the inbox; while there is nothing to do it is blocked on a
// channel and has no timer.
type worker struct {
	backend   Backend
	transport http.RoundTripper
	userAgent string
	log       *slog.Logger
	trouble   *limiter // of all workers: a store that is away is one event
	refusals  limiter

	sub    subscriptions.Subscription
	target *target
	window window
	inbox  *inbox
	waiter *subscriptions.Waiter
	posts  sync.WaitGroup

	out, bytesOut int     // pushes whose exchange is not over
	pending       []*push // with an outcome to be settled
	hungry        bool    // there may be something to lease
	backlog       bool    // there is more than there was room for

	store      *pauses // for a store that is away
	storeUntil time.Time
	giveUp     time.Time // when to stop trying to settle; zero while pushes may run
}

// run pushes until fetch ends, and returns when what was leased is settled.
func (w *worker) run(fetch, work context.Context) {
	w.hungry = true
	fetching, working := fetch.Done(), work.Done()
	for {
		w.collect()
		w.settle(work)
		if fetching != nil {
			w.lease(fetch, work)
		} else if w.out == 0 && len(w.pending) == 0 {
			break
		}
		select {
		case <-fetching:
			fetching, w.hungry = nil, false
			w.leave()
		case <-working:
			working = nil
			w.giveUp = time.Now().Add(lastSettle)
		case <-w.wakeups():
			w.hungry = true
		case <-w.inbox.ready:
		case <-w.alarm():
		}
	}
	w.posts.Wait()
}

// wakeups is what the store's wake-ups come on, once there is a waiter.
func (w *worker) wakeups() <-chan struct{} {
	if w.waiter == nil {
		return nil
	}
	return w.waiter.C
}

func (w *worker) leave() {
	if w.waiter != nil {
		w.waiter.Leave()
		w.waiter = nil
	}
}

// alarm is the time when something can be done that nobody wakes the worker
// for, or nil.
func (w *worker) alarm() <-chan time.Time {
	var at time.Time
	switch {
	case len(w.pending) > 0:
		at = w.storeUntil
	case w.hungry && w.room() > 0:
		at = w.leaseAfter()
	default:
		return nil
	}
	return time.After(time.Until(at))
}

func (w *worker) leaseAfter() time.Time {
	if until := w.window.closedUntil(); until.After(w.storeUntil) {
		return until
	}
	return w.storeUntil
}

// lease leases what there is room for and starts to push it. What it leaves is
// for the next round, so that outcomes are settled in between.
func (w *worker) lease(fetch, work context.Context) {
	if !w.hungry || len(w.pending) > 0 || time.Now().Before(w.leaseAfter()) || !w.join(fetch) {
		return
	}
	room := w.room()
	if room == 0 {
		w.backlog = true
		return
	}
	l, err := w.backend.LeasePush(fetch, w.sub.Name, room)
	switch code := subscriptions.CodeOf(err); {
	case err != nil && fetch.Err() != nil:
		return
	case code == subscriptions.NotFound, code == subscriptions.FailedPrecondition:
		// Deleted, detached or turned to pull. The manager will hear of it; should
		// it be push again, there is a wake-up.
		w.hungry = false
		return
	case err != nil:
		w.storeFailed("lease", err)
		return
	}
	w.storeWorks()
	w.hungry, w.backlog = l.More, l.More
	w.waiter.WakeIn(l.NextDue)
	w.configure(l.Subscription)
	g := &grant{sub: l.Subscription, target: w.target, until: l.Until}
	for _, d := range l.Deliveries {
		w.start(work, g, d)
	}
}

// join makes the worker wait for messages, before its first lease.
func (w *worker) join(ctx context.Context) bool {
	if w.waiter != nil {
		return true
	}
	var err error
	if w.waiter, err = w.backend.Wait(ctx, w.sub); err != nil {
		w.waiter = nil
		if ctx.Err() == nil {
			w.storeFailed("wait for messages", err)
		}
		return false
	}
	return true
}

// room is how many messages may be leased now. While a backlog waits it is
// leased a good part of the window at a time: a lease for each place that
// becomes free would cost the store several times as much, and would take
// redeliveries alone.
func (w *worker) room() int {
	limit := w.window.limit()
	free := limit - w.out
	tooFew := w.backlog && w.out > 0 && free < max(limit/4, 2)
	if free <= 0 || tooFew || w.bytesOut >= maxBytesOut {
		return 0
	}
	return free
}

// configure adopts the subscription's newest configuration. Another endpoint
// starts with a new window: it is not to blame for the old one's failures.
func (w *worker) configure(sub subscriptions.Subscription) {
	if sub.Push == nil || sub.UID == w.sub.UID && sub.Revision <= w.sub.Revision {
		return
	}
	w.sub = sub
	if w.target == nil || w.target.endpoint != sub.Push.Endpoint {
		w.target = newTarget(sub.Push.Endpoint, w.userAgent)
		w.window = newSimpleWindow()
	}
	if !w.target.prover.Proves(sub) {
		// A copy: pushes under way have the old one.
		changed := *w.target
		changed.prover = proof.Of(sub)
		w.target = &changed
	}
}

// start pushes one message in a goroutine of its own.
func (w *worker) start(work context.Context, g *grant, d subscriptions.Delivery) {
	p := &push{grant: g, receipt: d.Receipt(), attempt: d.Attempt, began: time.Now()}
	w.out++
	w.bytesOut += p.receipt.Size
	w.posts.Go(func() { w.post(work, p, d) })
}

// post is the life of a push outside of the worker's goroutine.
func (w *worker) post(work context.Context, p *push, d subscriptions.Delivery) {
	over := false
	report := func(a answer) {
		p.took, p.answer, p.reason = time.Since(p.began), a, classify(a)
		if a.err != nil && work.Err() != nil {
			p.reason = brokenOff
		}
		if a.last {
			over = true
		}
		w.inbox.put(func(n *news) {
			n.ended = append(n.ended, p)
			if a.last {
				n.freed = append(n.freed, p)
			}
		})
	}
	if time.Now().Before(p.until) {
		payload := payloadOf(p.sub, d)
		deliver(work, w.transport, p.target.proved(work, d.Message.ID, payload.body), payload, p.until, report)
	} else {
		report(answer{err: &exchangeError{reason: noTime, err: context.DeadlineExceeded}, last: true})
	}
	if !over {
		w.inbox.put(func(n *news) { n.freed = append(n.freed, p) })
	}
}
