package pusher

import (
	"fmt"
	"hash/fnv"
	"time"

	"postrider/subscriptions"
)

const (
	// breakerThreshold is how many different messages must be refused, none
	// accepted in between, for an endpoint's breaker to open.
	breakerThreshold = 20
	// trialThreshold is the same on trial, and trialLength how many accepted
	// pushes end that. trialWindow is how many may be out until then.
	trialThreshold = 3
	trialLength    = 5
	trialWindow    = minWindow
	// The cool-down of an open breaker doubles with each probe that fails.
	minCoolDown = 5 * time.Second
	maxCoolDown = time.Minute
	// recallEvery is how often an open breaker may look whether it was closed by
	// hand, which it does when something wakes it.
	recallEvery = time.Second
)

type breakerState int8

const (
	breakerClosed breakerState = iota
	breakerOpen
	breakerTrial // half-open
)

// breaker is the circuit breaker of an endpoint. It opens after a run of
// refusals of different messages: one message that is always refused says
// nothing of its endpoint. While it is open nothing is leased, so that an outage
// spends no attempts, but for one probe a cool-down, which is released if it
// fails. A probe that is accepted puts the endpoint on trial with a few pushes at
// a time, and these let it close or open again. The store keeps that it is open.
//
//	           20 refused in a row                 a probe is accepted
//	closed ------------------------> open ------------------------------> trial
//	  ^                               ^  |  a probe fails: cool down      |  |
//	  |                               |  +--- twice as long, open         |  |
//	  |                               +------- 3 refused in a row --------+  |
//	  +------------------------------- 5 accepted ---------------------------+
type breaker struct {
	state    breakerState
	refused  map[subscriptions.MessageID]struct{} // in a row
	accepted int                                  // on trial

	opened  time.Time
	probeAt time.Time
	probing bool // a probe is out, or its lease is
	probes  int  // that failed
	growth  *pauses

	unkept bool // the store is to be told
}

func newBreaker() breaker {
	return breaker{refused: map[subscriptions.MessageID]struct{}{}, growth: newPauses(minCoolDown, maxCoolDown)}
}

// change is what an outcome made of a breaker that somebody may want to know.
type change int8

const (
	unchanged change = iota
	hasOpened
	hasClosed
)

// accept learns that a push was accepted.
func (b *breaker) accept(probe bool) change {
	clear(b.refused)
	if probe {
		b.probing = false
	}
	switch b.state {
	case breakerOpen:
		b.state, b.accepted = breakerTrial, 1
	case breakerTrial:
		b.accepted++
	}
	if b.state == breakerTrial && b.accepted >= trialLength {
		b.close()
		b.unkept = true
		return hasClosed
	}
	return unchanged
}

// refuse learns that a push was refused, and how long the endpoint asked to be
// left alone.
func (b *breaker) refuse(id subscriptions.MessageID, probe bool, retryAfter time.Duration) change {
	if probe {
		b.probing = false
	}
	b.refused[id] = struct{}{}
	switch {
	case b.state == breakerClosed && len(b.refused) >= breakerThreshold:
		b.opened, b.probes = time.Now(), 0
		b.growth.reset()
		b.coolDown(retryAfter)
		return hasOpened
	case b.state == breakerTrial && len(b.refused) >= trialThreshold, b.state == breakerOpen && probe:
		b.probes++
		b.coolDown(retryAfter)
	}
	return unchanged
}

func (b *breaker) coolDown(atLeast time.Duration) {
	b.state, b.unkept = breakerOpen, true
	b.probeAt = time.Now().Add(max(b.growth.next(), atLeast))
	clear(b.refused)
}

// release learns that a push came to nothing by our own doing.
func (b *breaker) release(probe bool) {
	if probe {
		b.probing = false
	}
}

func (b *breaker) close() {
	clear(b.refused)
	b.state, b.probing = breakerClosed, false
}

// notBefore is when the next message may be leased; limit is how many may be out.
func (b *breaker) notBefore() time.Time {
	if b.state == breakerOpen {
		return b.probeAt
	}
	return time.Time{}
}

// waits tells whether nothing may be leased until a probe has ended.
func (b *breaker) waits() bool { return b.state == breakerOpen && b.probing }

// endpointMark tells endpoints apart in what is kept.
func endpointMark(endpoint string) string {
	h := fnv.New64a()
	h.Write([]byte(endpoint))
	return fmt.Sprintf("%016x", h.Sum64())
}

// kept is what the store is to keep.
func (b *breaker) kept(endpoint string) subscriptions.Breaker {
	if b.state == breakerClosed {
		return subscriptions.Breaker{}
	}
	now := time.Now()
	return subscriptions.Breaker{
		Open: true, Endpoint: endpointMark(endpoint), Probes: b.probes,
		Since: now.Sub(b.opened), Probe: max(0, b.probeAt.Sub(now)),
	}
}

// recall goes on with what an earlier owner left.
func (b *breaker) recall(k subscriptions.Breaker) {
	now := time.Now()
	b.state, b.opened, b.probeAt, b.probes = breakerOpen, now.Add(-k.Since), now.Add(k.Probe), k.Probes
	b.growth.reset()
	for range min(k.Probes+1, 10) {
		b.growth.next()
	}
}
