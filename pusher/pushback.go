package pusher

import "time"

const (
	// Push backoff, for the whole subscription.
	minPushBackoff = 100 * time.Millisecond
	maxPushBackoff = 60 * time.Second
	// mostlyRefused is the share of refusals from which the endpoint, and not a
	// message, is taken to be at fault; fading is what an outcome still counts
	// for at the next one.
	mostlyRefused = 0.5
	fading        = 0.9
)

// pushback is the push backoff of a subscription. While most of its pushes are
// refused it pauses, longer with each round of refusals and from the beginning
// again after a success; so the rarer successes are, the longer it gets. What is
// refused waits as long, or as its own retry policy says if that is longer. A
// single refused message among accepted ones changes nothing for the others.
type pushback struct {
	accepted, refused float64 // recent outcomes, fading
	growth            *pauses
	pause             time.Duration
	paused            time.Time // when the pause began; what began before has had its say
	until             time.Time
	asked             time.Time // until when the endpoint asked to be left alone
}

func newPushback() pushback {
	return pushback{growth: newPauses(minPushBackoff, maxPushBackoff)}
}

// accept learns that a push was accepted.
func (b *pushback) accept() {
	b.fade()
	b.accepted++
	b.growth.reset()
	b.pause = 0
	if !b.failing() {
		b.paused, b.until, b.asked = time.Time{}, time.Time{}, time.Time{}
	}
}

// refuse learns that a push that began at began was refused, and how long the
// endpoint asked to be left alone. It tells how long the message waits at least.
func (b *pushback) refuse(began time.Time, retryAfter time.Duration) (atLeast time.Duration) {
	b.fade()
	b.refused++
	if !b.failing() {
		return retryAfter
	}
	now := time.Now()
	if began.After(b.paused) {
		b.pause, b.paused = b.growth.next(), now
		b.until = later(b.until, now.Add(b.pause))
	}
	if retryAfter > 0 {
		b.asked = later(b.asked, now.Add(retryAfter))
	}
	return max(b.pause, retryAfter)
}

// notBefore is when the next message may be leased.
func (b *pushback) notBefore() time.Time { return later(b.until, b.asked) }

func (b *pushback) fade() { b.accepted, b.refused = b.accepted*fading, b.refused*fading }

func (b *pushback) failing() bool {
	return b.refused >= mostlyRefused*(b.accepted+b.refused)
}
