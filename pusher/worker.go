package pusher

import (
	"context"
	"log/slog"
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
	// settleSoon is how long an outcome waits for others while pushes are out, so
	// that they are settled together: a step of the store for each would cost it
	// several times as much. settleFew is how many need not wait.
	settleSoon = 2 * time.Millisecond
	settleFew  = 100
)

// worker pushes the messages of one subscription. Only run's goroutine uses its
// fields, but for the inbox; while there is nothing to do it is blocked on a
// channel and has no timer. Steps of the store are on their way while it goes
// on, one lease and one settlement at a time.
type worker struct {
	backend    Backend
	transports *transports
	userAgent  string
	issuer     *proof.Issuer
	log        *slog.Logger
	trouble    *limiter // of all workers: a store that is away is one event
	places     *places
	observer   Observer
	crew       *crew
	refusals   limiter

	sub    subscriptions.Subscription
	target *target
	flow   *flow
	inbox  *inbox
	waiter *subscriptions.Waiter
	posts  sync.WaitGroup
	steps  sync.WaitGroup

	leased  chan leased  // what the lease on its way will give; nil when there is none
	settled chan settled // the same of the settlement

	recalled chan recalled // the same of what the store keeps of the breaker
	kept     chan kept     // and of what it is told to keep
	recallAt time.Time     // when it may be asked again
	fresh    bool          // it was not asked yet
	looking  bool          // it is to be asked

	reporter reporter

	out, bytesOut int       // pushes whose exchange is not over
	pending       []*push   // with an outcome to be settled
	settleAt      time.Time // when those are settled at the latest
	hungry        bool      // there may be something to lease
	backlog       bool      // there is more than there was room for
	leaving       bool      // nothing more is leased
	crowded       bool      // the server had no place left; one of ours that ends makes another try
	alarm         alarm

	store      *pauses // for a store that is away
	storeUntil time.Time
	giveUp     time.Time // when to stop trying to settle; zero while pushes may run
}

// run pushes until fetch ends, and returns when what was leased is settled.
func (w *worker) run(fetch, work context.Context) {
	w.hungry = true
	defer w.alarm.stop()
	fetching, working := fetch.Done(), work.Done()
	for {
		w.collect()
		w.settle(work)
		w.keep(work)
		w.report(work)
		w.lease(fetch)
		if w.done() {
			break
		}
		select {
		case <-fetching:
			fetching, w.leaving, w.hungry = nil, true, false
			w.leave()
		case <-working:
			working = nil
			w.giveUp = time.Now().Add(lastSettle)
		case l := <-w.leased:
			w.leased = nil
			w.take(fetch, work, l)
		case s := <-w.settled:
			w.settled = nil
			w.conclude(s)
		case r := <-w.recalled:
			w.recalled = nil
			w.remember(fetch, r)
		case k := <-w.kept:
			w.kept = nil
			w.noteKept(k)
		case err := <-w.reporter.reported:
			w.noteReported(err)
		case <-w.wakeups():
			w.hungry = !w.leaving
			w.reporter.asked = w.waiter.Asked() || w.reporter.asked
			w.looking = w.flow.breaker.state == breakerOpen
		case <-w.inbox.ready:
		case <-w.alarm.at(w.next()):
		}
	}
	w.posts.Wait()
	w.steps.Wait()
}

// done tells whether nothing is left to be done by a worker that is to stop.
func (w *worker) done() bool {
	steps := w.leased != nil || w.settled != nil || w.recalled != nil || w.kept != nil || w.reporter.reported != nil
	return w.leaving && w.out == 0 && len(w.pending) == 0 && !steps
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

// next is when something can be done that nobody wakes the worker for; zero
// when nothing can.
func (w *worker) next() time.Time {
	var at time.Time
	if len(w.pending) > 0 && w.settled == nil {
		at = later(w.settleAt, w.storeUntil)
	}
	if w.mayRecall() {
		if recall := later(w.recallAt, w.storeUntil); at.IsZero() || recall.Before(at) {
			at = recall
		}
	}
	if w.flow.breaker.unkept && w.kept == nil && (at.IsZero() || w.storeUntil.Before(at)) {
		at = w.storeUntil
	}
	if w.mayLease() && w.room() > 0 {
		if lease := w.leaseAfter(); at.IsZero() || lease.Before(at) {
			at = lease
		}
	}
	return at
}

func (w *worker) leaseAfter() time.Time { return later(w.flow.closedUntil(), w.storeUntil) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// mayLease tells whether to lease as soon as there is room and time. While the
// store fails, what there is to be settled goes first.
func (w *worker) mayLease() bool {
	unsettled := len(w.pending) > 0 || w.settled != nil
	return w.hungry && !w.fresh && !w.crowded && !w.flow.breaker.waits() && w.leased == nil && (w.storeUntil.IsZero() || !unsettled)
}

// mayRecall tells whether to ask for the breaker as soon as there is time.
func (w *worker) mayRecall() bool {
	return (w.fresh || w.looking) && !w.leaving && w.recalled == nil && w.kept == nil
}

// leased is what a lease gave.
type leased struct {
	subscriptions.PushLease
	err    error
	places int // that were taken for it
}

// lease asks for what there is room for.
func (w *worker) lease(fetch context.Context) {
	if w.mayRecall() && !time.Now().Before(later(w.recallAt, w.storeUntil)) && w.join(fetch) {
		w.recall(fetch)
	}
	if !w.mayLease() || time.Now().Before(w.leaseAfter()) {
		return
	}
	room := w.room()
	if room == 0 {
		w.backlog = true
		return
	}
	if !w.join(fetch) {
		return
	}
	if room = w.places.take(w.flow.allowed(room), w.out); room == 0 {
		w.backlog, w.crowded = true, true
		return
	}
	w.hungry = false // a wake-up that comes meanwhile asks again
	w.flow.breaker.probing = w.flow.breaker.state == breakerOpen
	reply, name := make(chan leased, 1), w.sub.Name
	w.leased = reply
	w.steps.Go(func() {
		l, err := w.backend.LeasePush(fetch, name, room)
		reply <- leased{l, err, room}
	})
}

// take starts to push what a lease gave.
func (w *worker) take(fetch, work context.Context, l leased) {
	w.places.giveBack(l.places - len(l.Deliveries))
	probe := w.flow.breaker.waits()
	if len(l.Deliveries) == 0 {
		w.flow.breaker.release(probe)
	}
	switch code := subscriptions.CodeOf(l.err); {
	case l.err != nil && fetch.Err() != nil:
		return
	case code == subscriptions.NotFound, code == subscriptions.FailedPrecondition:
		// Deleted, detached or turned to pull. The manager will hear of it; should
		// it be push again, there is a wake-up.
		return
	case l.err != nil:
		w.hungry = true
		w.storeFailed("lease", l.err)
		return
	}
	w.storeWorks()
	w.backlog = l.More
	if !w.leaving {
		w.hungry = w.hungry || l.More
		w.waiter.WakeIn(l.NextDue)
	}
	w.configure(l.Subscription)
	if len(l.Deliveries) == 0 {
		return
	}
	g := newGrant(work, l.PushLease, w.target)
	if !probe && w.flow.breaker.state == breakerOpen {
		w.giveBack(g, l.Deliveries) // it opened while the lease was on its way
		return
	}
	for _, d := range l.Deliveries {
		w.start(g, d, probe)
	}
	w.flow.sent(len(l.Deliveries), w.out)
}

// giveBack releases what was leased and is not to be pushed.
func (w *worker) giveBack(g *grant, ds []subscriptions.Delivery) {
	g.cancel()
	w.places.giveBack(len(ds))
	for _, d := range ds {
		w.pending = append(w.pending, &push{grant: g, receipt: d.Receipt(), reason: noTime})
	}
	w.soon()
}

// join makes the worker wait for messages, before its first step: from then on it
// also hears that somebody closed its breaker, or asks how its pushes go.
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
// becomes free would cost the store several times as much.
func (w *worker) room() int {
	limit := w.flow.limit()
	if w.flow.breaker.state == breakerOpen {
		limit = w.out + 1 // a probe, whatever else is out
		if most := w.flow.most; most > 0 {
			limit = min(limit, most)
		}
	}
	free := limit - w.out
	tooFew := w.backlog && w.out > 0 && free < limit/4 && w.flow.breaker.state != breakerOpen
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
		open := w.flow != nil && w.flow.breaker.state != breakerClosed
		w.flow = newFlow(sub.PushLimits)
		w.flow.breaker.unkept = open // what is kept is of another endpoint
		w.reporter.errors = nil
	}
	w.flow.configure(sub.PushLimits)
	if !w.target.prover.Proves(sub) {
		// A copy: pushes under way have the old one.
		changed := *w.target
		changed.prover = proof.Of(sub, w.issuer)
		w.target = &changed
	}
}

// start pushes one message, in a goroutine of the crew.
func (w *worker) start(g *grant, d subscriptions.Delivery, probe bool) {
	p := &push{grant: g, receipt: d.Receipt(), attempt: d.Attempt, began: time.Now(), probe: probe}
	w.out++
	w.bytesOut += p.receipt.Size
	w.posts.Add(1)
	w.crew.run(func() {
		defer w.posts.Done()
		w.post(p, &d)
	})
}

// post is the life of a push outside of the worker's goroutine.
func (w *worker) post(p *push, d *subscriptions.Delivery) {
	defer p.over()
	over := false
	header, also := w.announce(p.ctx, p, d)
	report := func(a answer) {
		p.took, p.reason = time.Since(p.began), classifyFor(a, p.sub.Terminal)
		a.header = nil
		p.answer = a
		if p.reason == terminal {
			p.terminal = d
		}
		if a.err != nil && p.work.Err() != nil {
			p.reason = brokenOff
		}
		over = a.last
		w.observed(p, also)
		w.inbox.ended(p, a.last)
	}
	if p.ctx.Err() == nil {
		payload := payloadOf(&p.sub, d)
		transport, err := w.transports.of(p.sub.ClientCertificate)
		deliver(p.ctx, transport, p.target.proved(p.ctx, d.Message.ID, payload.body, err).with(header), payload, report)
	} else {
		report(answer{err: &exchangeError{reason: noTime, err: context.DeadlineExceeded}, last: true})
	}
	if !over {
		w.inbox.freed(p)
	}
}
