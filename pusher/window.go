package pusher

import "time"

// window decides how much of a subscription may be with its endpoint at once,
// and when nothing may. A worker asks nobody else.
type window interface {
	// limit is how many pushes may be out.
	limit() int
	// observe learns how a push ended that began at began. What was refused
	// waits for as long as it returns, or longer.
	observe(began time.Time, accepted bool) (atLeast time.Duration)
	// closedUntil is until when nothing new may be leased.
	closedUntil() time.Time
}

const (
	firstWindow = 10
	maxWindow   = 100
	// minWindow is more than one, because a lease of one takes a redelivery
	// before what is new: a message that is always refused would then be all
	// that is ever tried.
	minWindow = 4

	// Push backoff, for the whole subscription.
	minPushBackoff = 100 * time.Millisecond
	maxPushBackoff = 60 * time.Second

	// mostlyRefused is the share of refusals from which the endpoint, and not a
	// message, is taken to be at fault; fading is what an outcome still counts
	// for at the next one.
	mostlyRefused = 0.5
	fading        = 0.9
)

// simpleWindow opens by one with each accepted push, which doubles it a round.
// Once most pushes are refused it halves and the subscription pauses, longer
// with each round of refusals and from the beginning again after a success. A
// single refused message among accepted ones changes nothing for the others.
type simpleWindow struct {
	size              int
	accepted, refused float64 // recent outcomes, fading
	backoff           *pauses
	pause             time.Duration
	paused            time.Time // when the pause began; what began before has had its say
	until             time.Time
}

func newSimpleWindow() *simpleWindow {
	return &simpleWindow{size: firstWindow, backoff: newPauses(minPushBackoff, maxPushBackoff)}
}

func (w *simpleWindow) limit() int             { return w.size }
func (w *simpleWindow) closedUntil() time.Time { return w.until }

func (w *simpleWindow) observe(began time.Time, accepted bool) time.Duration {
	w.accepted, w.refused = w.accepted*fading, w.refused*fading
	if accepted {
		w.accepted++
		w.size = min(w.size+1, maxWindow)
		w.backoff.reset()
		w.pause = 0
		if !w.failing() {
			w.paused, w.until = time.Time{}, time.Time{}
		}
		return 0
	}
	w.refused++
	if !w.failing() {
		return 0
	}
	if began.After(w.paused) {
		w.size = max(w.size/2, minWindow)
		w.pause, w.paused = w.backoff.next(), time.Now()
		w.until = w.paused.Add(w.pause)
	}
	return w.pause
}

func (w *simpleWindow) failing() bool {
	return w.refused >= mostlyRefused*(w.accepted+w.refused)
}
