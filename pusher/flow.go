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
	window window
	back   pushback
	// most is the subscription's own cap; 0 is none.
	most int
	// pace is nil without a rate limit.
	pace *rate.Limiter
}

func newFlow(limits subscriptions.PushLimits) *flow {
	f := &flow{window: newWindow(), back: newPushback()}
	f.configure(limits)
	return f
}

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
	if f.most > 0 {
		return min(f.most, f.window.size)
	}
	return f.window.size
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
func (f *flow) observe(p *push) (atLeast time.Duration) {
	ok := p.reason == accepted
	f.window.observe(p.began, p.took, ok)
	if ok {
		f.back.accept()
		return 0
	}
	return f.back.refuse(p.began, spread(p.answer.retryAfter))
}

// closedUntil is until when nothing new may be leased: for the push backoff, or
// until the rate limit lets a good part of a burst go.
func (f *flow) closedUntil() time.Time {
	if f.pace == nil {
		return f.back.until
	}
	want := float64(max(1, f.pace.Burst()/2))
	short := want - f.pace.Tokens()
	if short <= 0 {
		return f.back.until
	}
	wait := time.Duration(math.Ceil(short / float64(f.pace.Limit()) * float64(time.Second)))
	return later(f.back.until, time.Now().Add(wait))
}
