package subscriptions

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDelayGrowsToTheMaximum(t *testing.T) {
	p := RetryPolicy{2 * time.Second, 8 * time.Second}
	for attempt, want := range map[int]Span{
		1: {2 * time.Second, 3 * time.Second},
		2: {4 * time.Second, 6 * time.Second},
		3: {8*time.Second - 8*time.Second/3, 8 * time.Second},
		4: {8*time.Second - 8*time.Second/3, 8 * time.Second},
	} {
		if got := p.Span(attempt); got != want {
			t.Errorf("attempt %d: %v, want %v", attempt, got, want)
		}
	}
}

func TestDelayEdges(t *testing.T) {
	for _, c := range []struct {
		name    string
		p       RetryPolicy
		attempt int
		want    Span
	}{
		{"no delay at all", RetryPolicy{}, 7, Span{}},
		{"minimum zero never grows", RetryPolicy{0, 600 * time.Second}, 50, Span{}},
		{"both equal", RetryPolicy{5 * time.Second, 5 * time.Second}, 1, Span{5 * time.Second, 5 * time.Second}},
		{"attempt zero counts as the first", RetryPolicy{time.Second, 10 * time.Second}, 0, Span{time.Second, 1500 * time.Millisecond}},
		{"an attempt beyond every shift", RetryPolicy{time.Second, 600 * time.Second}, 1 << 40, Span{400 * time.Second, 600 * time.Second}},
		{"half as much again is capped", RetryPolicy{7 * time.Second, 8 * time.Second}, 1, Span{7 * time.Second, 8 * time.Second}},
	} {
		if got := c.p.Span(c.attempt); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDelayKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := time.Duration(rapid.Int64Range(0, int64(MaxBackoff)).Draw(t, "min"))
		high := time.Duration(rapid.Int64Range(int64(low), int64(MaxBackoff)).Draw(t, "max"))
		p := RetryPolicy{low, high}
		attempt := rapid.IntRange(1, 200).Draw(t, "attempt")
		u := rapid.Float64Range(0, 0.999999).Draw(t, "u")
		d := p.Delay(attempt, u)
		// Stores keep whole milliseconds, rounded up.
		if d < low || d > high+time.Millisecond {
			t.Fatalf("%v at attempt %d is %v", p, attempt, d)
		}
		if SpanOf(p.Spans(), attempt) != p.Span(attempt) {
			t.Fatalf("the list %v disagrees at attempt %d", p.Spans(), attempt)
		}
		if p.Span(attempt+1).High < p.Span(attempt).High {
			t.Fatalf("the delay of %v shrinks after attempt %d", p, attempt)
		}
	})
}

// A thousand messages that fail in one tick must not come back together.
func TestJitterSpreadsWhatFailedTogether(t *testing.T) {
	p := RetryPolicy{10 * time.Second, 600 * time.Second}
	for _, attempt := range []int{1, 3, 9} {
		buckets := map[int64]int{}
		for i := range 1000 {
			buckets[p.Delay(attempt, Jitter(0.37, i)).Milliseconds()/100]++
		}
		for bucket, n := range buckets {
			if n > 50 {
				t.Errorf("attempt %d: %d of 1000 in the 100 ms from %d00 ms", attempt, n, bucket)
			}
		}
	}
}

func TestSpanOfWithoutPolicyIsAtOnce(t *testing.T) {
	if got := SpanOf(nil, 3); got != (Span{}) {
		t.Errorf("%v", got)
	}
}
