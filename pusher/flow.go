package pusher

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"postrider/subscriptions"
)

// flow decides how much of a subscription may be with its endpoint at once, and
// when nothing may.
type flow struct {
	window  window
	back    pushback
	breaker breaker
	// most is the subscription's own cap; 0 is none.
	most int
	// pace is nil without a rate limit.
	pace *rate.Limiter
}

func newFlow(limits subscriptions.PushLimits) *flow {
	f := &flow{window: newWindow(), back: newPushback(), breaker: newBreaker()}
	f.configure(limits)
	return f
}

// restart forgets how the endpoint did.
func (f *flow) restart() { f.window, f.back, f.breaker = newWindow(), newPushback(), newBreaker() }

// burst is how many pushes may go out at once under a rate limit: what it allows
// in a tenth of a second.
func burst(perSecond float64) int { return max(1, int(math.Ceil(perSecond/10))) }

func (f *flow) configure(limits subscriptions.PushLimits) {
	f.most = limits.MaxOutstanding
	switch r := limits.MaxPerSecond; {
	case r == 0:
		f.pace = nil
	case f.pace == nil:
		f.pace = rate.NewLimiter(rate.Limit(r), burst(r))
	default:
		f.pace.SetLimit(rate.Limit(r))
		f.pace.SetBurst(burst(r))
	}
}

// limit is how many pushes may be out.
func (f *flow) limit() int {
	limit := f.window.size
	if f.breaker.state == breakerTrial {
		limit = min(limit, trialWindow)
	}
	if f.most > 0 {
		limit = min(limit, f.most)
	}
	return limit
}

// allowed is how many of n more pushes the rate limit lets go now, at least one:
// it is asked after closedUntil.
func (f *flow) allowed(n int) int {
	if f.pace == nil {
		return n
	}
	return min(n, max(1, int(f.pace.Tokens())))
}

// sent notes pushes.
func (f *flow) sent(n, out int) {
	f.window.uses(out)
	if f.pace != nil {
		f.pace.ReserveN(time.Now(), n)
	}
}

// observe learns how a push ended, and tells how long its message waits at least
// if it was refused.
func (f *flow) observe(p *push) (atLeast time.Duration, c change) {
	if p.reason == accepted || p.reason == terminal { // either way the endpoint does its work
		f.window.observe(p.began, p.took, true)
		f.back.accept()
		if c = f.breaker.accept(p.probe); c == hasClosed {
			f.window = newWindow() // who was away starts afresh
		}
		return 0, c
	}
	wait := spread(p.answer.retryAfter)
	if !p.probe {
		f.window.observe(p.began, p.took, false)
		atLeast = f.back.refuse(p.began, wait)
	}
	return atLeast, f.breaker.refuse(p.receipt.ID, p.probe, wait)
}

// closedUntil is until when nothing new may be leased: for the breaker or the
// push backoff, or until the rate limit lets a good part of a burst go.
func (f *flow) closedUntil() time.Time {
	until := f.back.notBefore()
	if f.breaker.state != breakerClosed {
		until = f.breaker.notBefore()
	}
	return later(until, f.paced())
}

// paced is until when the rate limit lets nothing go; zero when it does.
func (f *flow) paced() time.Time {
	if f.pace == nil {
		return time.Time{}
	}
	want := float64(max(1, f.pace.Burst()/2))
	short := want - f.pace.Tokens()
	if short <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(math.Ceil(short / float64(f.pace.Limit()) * float64(time.Second))))
}
