package pusher

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
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
	for _, e := range n.ends {
		if e.over {
			w.out--
			w.places.giveBack(1)
			w.crowded = false
			w.bytesOut -= e.receipt.Size
		}
		if e.known {
			w.learn(e.push)
		}
	}
	w.soon()
}

// learn takes an outcome to be settled, and lets the window learn from it.
func (w *worker) learn(p *push) {
	w.pending = append(w.pending, p)
	ours := p.target.endpoint == w.target.endpoint
	if p.reason.released() {
		if ours {
			w.flow.breaker.release(p.probe)
		}
		return
	}
	if ours {
		var c change
		p.atLeast, c = w.flow.observe(p)
		w.logBreaker(c, p)
	}
	if p.reason == accepted {
		return
	}
	w.logRefusal(p)
	if ours {
		w.reporter.refused(p)
	}
}

// soon sets when the outcomes that there are must be settled: at once unless
// more will come in a moment and nothing waits for it, as the next message of
// an ordering key does.
func (w *worker) soon() {
	now := time.Now()
	switch {
	case len(w.pending) == 0:
		w.settleAt = time.Time{}
	case w.out == 0, w.sub.Ordered, w.leaving, len(w.pending) >= settleFew:
		w.settleAt = now
	case w.settleAt.IsZero():
		w.settleAt = now.Add(settleSoon)
	}
}

// settled is how a settlement went.
type settled struct {
	pushes []*push
	err    error
}

// settle tells the store all outcomes that there are, at once. What comes while
// that is on its way goes with the next.
func (w *worker) settle(work context.Context) {
	if len(w.pending) == 0 || w.settled != nil || time.Now().Before(later(w.settleAt, w.storeUntil)) {
		return
	}
	// The first names the subscription; those of another, that was made anew
	// under the same name, have a turn of their own.
	sub := w.pending[0].sub
	var pushes []*push
	pushes, w.pending = w.partition(sub.UID)
	reply := make(chan settled, 1)
	w.settled = reply
	w.steps.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(work), settleTime)
		defer cancel()
		reply <- settled{pushes, w.backend.Settle(ctx, sub, settlement(pushes))}
	})
}

// conclude ends a settlement. What fails is tried again, together with what has
// come meanwhile.
func (w *worker) conclude(s settled) {
	if s.err != nil && subscriptions.CodeOf(s.err) != subscriptions.FailedPrecondition {
		w.pending = append(s.pushes, w.pending...)
		w.storeFailed("settle", s.err)
		w.forget()
		return
	}
	// Done, or there is no state any more in which to settle anything.
	w.storeWorks()
	w.settleAt = time.Time{}
}

func (w *worker) partition(uid string) (these, others []*push) {
	if !slices.ContainsFunc(w.pending, func(p *push) bool { return p.sub.UID != uid }) {
		return w.pending, nil
	}
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
		case p.reason == terminal:
			s.Terminals = append(s.Terminals, subscriptions.Terminal{Delivery: *p.terminal, Failure: failure(p)})
		case p.reason.released():
			s.Releases = append(s.Releases, subscriptions.Release{Receipt: p.receipt})
		case p.probe:
			s.Releases = append(s.Releases, subscriptions.Release{Receipt: p.receipt, Failure: failure(p)})
		default:
			s.Nacks = append(s.Nacks, subscriptions.Nack{Receipt: p.receipt, AtLeast: p.atLeast, Failure: failure(p)})
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

// failure says why a push was refused, and how the answer begins.
func failure(p *push) subscriptions.Failure {
	text := string(p.reason)
	switch {
	case p.answer.err != nil:
		text += ": " + p.answer.err.Error()
	case p.answer.status != 0:
		text = strings.TrimSpace(fmt.Sprintf("the endpoint answered %d %s", p.answer.status, http.StatusText(p.answer.status)))
	}
	return subscriptions.Failure{
		Reason: subscriptions.Reason(text), Status: p.answer.status, Answer: subscriptions.Answer(p.answer.text), Took: p.took,
	}
}
