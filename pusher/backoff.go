package pusher

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// pauses are growing waits between low and high.
type pauses struct {
	low, high time.Duration
	growth    *backoff.ExponentialBackOff
}

func newPauses(low, high time.Duration) *pauses {
	return &pauses{low: low, high: high, growth: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(low),
		backoff.WithMaxInterval(high),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0.2),
		backoff.WithMaxElapsedTime(0), // never give up
	)}
}

// next is the next wait. The library's jitter leaves both bounds.
func (p *pauses) next() time.Duration {
	return min(max(p.growth.NextBackOff(), p.low), p.high)
}

func (p *pauses) reset() { p.growth.Reset() }
