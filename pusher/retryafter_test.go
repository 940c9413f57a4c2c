package pusher

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for text, want := range map[string]time.Duration{
			"120":                     2 * time.Minute,
			" 7 ":                     7 * time.Second,
			"0":                       0,
			"86400":                   maxRetryAfter,
			"99999999999999999999999": maxRetryAfter,
			at(90 * time.Second):      90 * time.Second,
			at(24 * time.Hour):        maxRetryAfter,
			at(-time.Hour):            0,
			"":                        0,
			"-5":                      0,
			"1.5":                     0,
			"2 minutes":               0,
			"soon":                    0,
			"Thu, 99 Jan 2000":        0,
		} {
			if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
		// An endpoint whose clock is an hour ahead means the same by "in a minute".
		if got := retryAfter(http.Header{"Retry-After": {at(61 * time.Minute)}, "Date": {at(time.Hour)}}); got != time.Minute {
			t.Errorf("by the endpoint's clock: %v, want a minute", got)
		}
	})
}

// asks refuses for a while with a Retry-After, and then accepts.
func (b *bubble) asks(text func() string) {
	started := time.Now()
	b.web.answer(func(h hit) (int, error) {
		if time.Since(started) > 10*time.Second {
			return http.StatusOK, nil
		}
		h.answer.Set("Retry-After", text())
		return http.StatusTooManyRequests, nil
	})
}

// Case 8 of the field.
func TestAnEndpointThatAsksForTimeGetsIt(t *testing.T) {
	for what, c := range map[string]struct {
		text      func() string
		low, high time.Duration
	}{
		"seconds":      {func() string { return "120" }, 120 * time.Second, 180 * time.Second},
		"a date":       {func() string { return time.Now().Add(120 * time.Second).UTC().Format(http.TimeFormat) }, 119 * time.Second, 180 * time.Second},
		"garbage":      {func() string { return "in a while" }, 30 * time.Second, 45 * time.Second},
		"less":         {func() string { return "3" }, 30 * time.Second, 45 * time.Second},
		"a day":        {func() string { return "86400" }, maxRetryAfter, maxRetryAfter * 3 / 2},
		"a day's date": {func() string { return time.Now().Add(24 * time.Hour).UTC().Format(http.TimeFormat) }, maxRetryAfter, maxRetryAfter * 3 / 2},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.asks(c.text)
				b.subscribe("sub", withRetry(30*time.Second, 300*time.Second))
				b.publish("m")
				time.Sleep(time.Hour)
				got := gaps(b.web.seen())
				if len(got) != 1 {
					b.Fatalf("gaps %v, want one", got)
				}
				b.wantBetween("the gap", got[0], c.low, c.high)
			})
		})
	}
}

// Case 9 of the field: what was told to wait together does not come back together.
func TestRetryAfterIsSpread(t *testing.T) {
	buckets := map[time.Duration]int{}
	for range 1000 {
		d := spread(10 * time.Second)
		if d < 10*time.Second || d > 15*time.Second {
			t.Fatalf("%v, want 10 s to 15 s", d)
		}
		buckets[d/(100*time.Millisecond)]++
	}
	for at, n := range buckets {
		if n > 1000/20 {
			t.Errorf("%d of 1,000 come back within 100 ms at %v", n, at*100*time.Millisecond)
		}
	}
}

// What an endpoint asked for ends with its turn: a change of the endpoint, or of
// mind, does not wait for it.
func TestRetryAfterCanBeForgotten(t *testing.T) {
	for what, forget := range map[string]func(*bubble, subscriptions.SubscriptionName) error{
		"another endpoint": func(b *bubble, sub subscriptions.SubscriptionName) error {
			return b.service.ModifyPushConfig(b.Context(), sub, &subscriptions.PushConfig{Endpoint: testEndpoint + "/new"}, nil)
		},
		"closed by hand": func(b *bubble, sub subscriptions.SubscriptionName) error {
			_, err := b.service.ClosePushBreaker(b.Context(), sub)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				refused := 0
				b.web.answer(func(h hit) (int, error) {
					if refused++; refused >= breakerThreshold-3 {
						h.answer.Set("Retry-After", "600")
					}
					return http.StatusServiceUnavailable, nil
				})
				sub := b.subscribe("sub", withRetry(5*time.Second, 5*time.Second))
				b.publish(slices.Repeat([]string{"m"}, 2*breakerThreshold)...)
				time.Sleep(time.Minute)
				b.web.answer(func(hit) (int, error) { return http.StatusOK, nil })
				if !b.kept(sub).Open {
					b.Error("the breaker is not open")
				}
				b.left(sub, 2*breakerThreshold)
				b.must(nil, forget(b, sub))
				time.Sleep(15 * time.Second)
				b.left(sub, 0)
			})
		})
	}
}
