package pusher

import (
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

const (
	// settleTime bounds one settlement.
	settleTime = 10 * time.Second
	// settlePatience is how long after the POSTs' end a settlement is tried
	// while the store is away. That is beyond the lease: an ack is of use for
	// as long as the message has not been pushed again, and what comes too late
	// has no effect.
	settlePatience = time.Minute
	// lastSettle is what a server that stops has for it.
	lastSettle = 5 * time.Second
)

// collect takes what the inbox holds.
func (w *worker) collect() {
	n := w.inbox.take()
	if n.sub.UID != "" {
		w.configure(n.sub)
	}
	for _, p := range n.freed {
		w.out--
		w.bytesOut -= p.receipt.Size
	}
	for _, p := range n.ended {
		w.pending = append(w.pending, p)
		if p.reason.released() {
			continue
		}
		atLeast := time.Duration(0)
		if p.target.endpoint == w.target.endpoint {
			atLeast = w.window.observe(p.began, p.reason == accepted)
		}
		if p.reason != accepted {
			p.atLeast = atLeast
			w.logRefusal(p)
		}
	}
}

// settle tells the store all outcomes that there are, at once. What fails is
// tried again, together with what has come meanwhile.
func (w *worker) settle(work context.Context) {
	for len(w.pending) > 0 && !time.Now().Before(w.storeUntil) {
		// The first names the subscription; those of another, that was made anew
		// under the same name, have a turn of their own.
		sub := w.pending[0].sub
		now, later := w.partition(sub.UID)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(work), settleTime)
		err := w.backend.Settle(ctx, sub, settlement(now))
		cancel()
		if err != nil && subscriptions.CodeOf(err) != subscriptions.FailedPrecondition {
			w.storeFailed("settle", err)
			w.forget()
			return
		}
		// Done, or there is no state any more in which to settle anything.
		w.storeWorks()
		w.pending = later
	}
}

func (w *worker) partition(uid string) (these, others []*push) {
	for _, p := range w.pending {
		if p.sub.UID == uid {
			these = append(these, p)
		} else {
			others = append(others, p)
		}
	}
	return these, others
}

func settlement(pushes []*push) subscriptions.Settlement {
	var s subscriptions.Settlement
	for _, p := range pushes {
		switch {
		case p.reason == accepted:
			s.Acks = append(s.Acks, p.receipt)
		case p.reason.released():
			s.Releases = append(s.Releases, p.receipt)
		default:
			s.Nacks = append(s.Nacks, subscriptions.Nack{Receipt: p.receipt, AtLeast: p.atLeast})
		}
	}
	return s
}

// forget drops outcomes that could not be settled in time. Their messages come
// again when their leases are over.
func (w *worker) forget() {
	now := time.Now()
	before := len(w.pending)
	w.pending = slices.DeleteFunc(w.pending, func(p *push) bool {
		return now.After(p.until.Add(settlePatience)) || !w.giveUp.IsZero() && now.After(w.giveUp)
	})
	if n := before - len(w.pending); n > 0 {
		w.log.Warn("outcomes of pushes could not be stored; the messages will come again",
			"subscription", w.sub.Name.String(), "messages", n)
	}
}

// storeFailed puts off what needs the store.
func (w *worker) storeFailed(what string, err error) {
	w.storeUntil = time.Now().Add(w.store.next())
	if held, ok := w.trouble.allow(time.Now()); ok {
		w.log.Warn("the store failed a push worker, which tries again",
			"step", what, "subscription", w.sub.Name.String(), "error", err, "suppressed", held)
	}
}

func (w *worker) storeWorks() {
	if !w.storeUntil.IsZero() {
		w.storeUntil = time.Time{}
		w.store.reset()
	}
}
