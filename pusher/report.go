package pusher

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// reportEvery is how often an owner says how its pushes go while some are
// refused, though nobody asks: so that something is known of an endpoint when
// its owner has gone. That an endpoint no longer asks to be left alone, before that
// time is over, is said at once. While all goes well it says nothing unasked.
const reportEvery = 10 * time.Second

// reporter is what a worker may have to say of its pushes.
type reporter struct {
	errors   []subscriptions.PushError // newest first
	asked    bool
	troubled bool // refusals that nothing was said of
	said     time.Time
	told     time.Time  // until when the endpoint asked to be left alone, as was said last
	reported chan error // what came of the report on its way; nil when there is none
}

// refused notes a refusal.
func (r *reporter) refused(p *push) {
	number := p.attempt
	if p.probe {
		number = 0
	}
	e := subscriptions.PushError{
		MessageID: p.receipt.ID,
		Attempt:   subscriptions.Attempt{Number: number, Time: time.Now().UTC().Truncate(time.Millisecond), Failure: failure(p)},
	}
	r.errors = append([]subscriptions.PushError{e}, r.errors[:min(len(r.errors), subscriptions.MaxPushErrors-1)]...)
	r.troubled = true
}

// due tells whether to say something now. alone is until when the endpoint asked
// to be left alone.
func (r *reporter) due(alone time.Time) bool {
	if r.reported != nil {
		return false
	}
	now := time.Now()
	over := r.told.After(now) && !alone.After(now)
	return r.asked || over || r.troubled && now.Sub(r.said) >= reportEvery
}

// report tells the store how pushes go, if somebody asks or something is wrong.
// Nothing depends on it, so what fails is not tried again.
func (w *worker) report(work context.Context) {
	alone := w.flow.back.asked
	if !w.reporter.due(alone) {
		return
	}
	w.reporter.asked, w.reporter.troubled, w.reporter.said, w.reporter.told = false, false, time.Now(), alone
	sub, r, reply := w.sub, w.pushReport(), make(chan error, 1)
	w.reporter.reported = reply
	w.steps.Go(func() {
		ctx, cancel := context.WithTimeout(work, settleTime)
		defer cancel()
		reply <- w.backend.ReportPush(ctx, sub, r)
	})
}

// noteReported ends a report.
func (w *worker) noteReported(err error) {
	w.reporter.reported = nil
	if err == nil || w.leaving {
		return
	}
	if held, ok := w.trouble.allow(time.Now()); ok {
		w.log.Warn("a push worker could not say how its pushes go", "subscription", w.sub.Name.String(), "error", err, "suppressed", held)
	}
}

// pushReport is how pushes go now. What has passed is left out.
func (w *worker) pushReport() subscriptions.PushReport {
	now, f := time.Now(), w.flow
	ahead := func(at time.Time) time.Time {
		if !at.After(now) {
			return time.Time{}
		}
		return at.UTC().Truncate(time.Millisecond)
	}
	return subscriptions.PushReport{
		At: now.UTC(), Window: f.window.size, Limit: f.limit(), InFlight: w.out,
		Backoff: ahead(f.back.until), RetryAfter: ahead(f.back.asked), Paced: ahead(f.paced()),
		HalfOpen: f.breaker.state == breakerTrial, Full: w.crowded, Errors: w.reporter.errors,
	}
}
