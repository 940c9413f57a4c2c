package subscriptions

import "time"

// Limits and defaults of a retry policy.
const (
	DefaultMinBackoff = 10 * time.Second
	DefaultMaxBackoff = 600 * time.Second
	MaxBackoff        = 600 * time.Second

	DefaultMaxAttempts = 5
	MinMaxAttempts     = 5
	MaxMaxAttempts     = 100
)

// RetryPolicy says how long a message waits after a nack or an expired lease.
type RetryPolicy struct{ Minimum, Maximum time.Duration }

// NewRetryPolicy fills in the defaults of what is absent.
func NewRetryPolicy(minimum, maximum *time.Duration) *RetryPolicy {
	p := &RetryPolicy{DefaultMinBackoff, DefaultMaxBackoff}
	if minimum != nil {
		p.Minimum = *minimum
	}
	if maximum != nil {
		p.Maximum = *maximum
	}
	return p
}

// Span is a range of delays, Low included, High included only when equal.
type Span struct{ Low, High time.Duration }

// Millis returns the ends in whole milliseconds, the unit in which stores keep
// time, rounded up so that a delay is never below the minimum.
func (s Span) Millis() (low, high int64) {
	up := func(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
	return up(s.Low), up(s.High)
}

// At is the delay at u of the span, u from 0 to less than 1, in whole
// milliseconds. A store's script computes the same.
func (s Span) At(u float64) time.Duration {
	low, high := s.Millis()
	return time.Duration(low+int64(u*float64(high-low))) * time.Millisecond
}

// Delay is how long a message waits after its attempt-th delivery failed, at
// the random point u (0 to less than 1) of the span of that attempt.
func (p RetryPolicy) Delay(attempt int, u float64) time.Duration {
	return p.Span(attempt).At(u)
}

// Span is where the delay after the attempt-th failed delivery lies.
//
// With d = min(Maximum, Minimum * 2^(attempt-1)), it reaches from d to half as
// much again, capped at Maximum; once d is Maximum, over the third below it, so
// that messages that failed together stay spread. Never below Minimum. The
// rule is a bounded exponential backoff with jitter added on top, since
// Google's minimumBackoff and maximumBackoff are promises.
func (p RetryPolicy) Span(attempt int) Span {
	d := p.Minimum
	for i := 1; i < attempt && d > 0 && d < p.Maximum; i++ {
		d *= 2 // cannot overflow: both ends are at most MaxBackoff
	}
	if d < p.Maximum {
		return Span{d, min(d+d/2, p.Maximum)}
	}
	return Span{max(p.Minimum, p.Maximum-p.Maximum/3), p.Maximum}
}

// Spans lists the span of attempt 1, 2, … up to the first that all later ones
// equal. It carries the policy into a store's step, which only has to pick a
// point.
func (p RetryPolicy) Spans() []Span {
	spans := []Span{p.Span(1)}
	for attempt := 2; ; attempt++ {
		last := spans[len(spans)-1]
		next := p.Span(attempt)
		if next == last {
			return spans
		}
		spans = append(spans, next)
	}
}

// SpanOf returns the span after the attempt-th failed delivery from a list that
// Spans made; no list means no delay.
func SpanOf(spans []Span, attempt int) Span {
	if len(spans) == 0 {
		return Span{}
	}
	return spans[min(max(attempt, 1), len(spans))-1]
}

// Jitter spreads one random number u over the messages of a step: the i-th gets
// the i-th point of a golden-ratio sequence that starts at u, so that even two
// messages of one step lie apart.
func Jitter(u float64, i int) float64 {
	const golden = 0.6180339887498949
	v := u + float64(i)*golden
	return v - float64(int64(v))
}
