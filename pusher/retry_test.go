package pusher

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"postrider/subscriptions"
)

// gaps are the times between pushes.
func gaps(hits []hit) []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(hits); i++ {
		gaps = append(gaps, hits[i].at-hits[i-1].at)
	}
	return gaps
}

func (b *bubble) wantBetween(what string, got, low, high time.Duration) {
	b.Helper()
	// The store keeps milliseconds, and rounds a delay up.
	if got < low || got > high+2*time.Millisecond {
		b.Errorf("%s is %v, want %v to %v", what, got, low, high)
	}
}

func withRetry(low, high time.Duration) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) {
		s.Retry = &subscriptions.RetryPolicy{Minimum: low, Maximum: high}
	}
}

// Case 2 of the field.
func TestGapsBetweenRetriesFollowThePolicy(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(refuse)
		b.subscribe("sub", withRetry(2*time.Second, 8*time.Second))
		b.publish("m")
		time.Sleep(40 * time.Second)
		got := gaps(b.web.seen())
		if len(got) < 4 {
			b.Fatalf("gaps %v, want at least 4", got)
		}
		b.wantBetween("gap 1", got[0], 2*time.Second, 3*time.Second)
		b.wantBetween("gap 2", got[1], 4*time.Second, 6*time.Second)
		b.wantBetween("gap 3", got[2], 5333*time.Millisecond, 8*time.Second)
		b.wantBetween("gap 4", got[3], 5333*time.Millisecond, 8*time.Second)
	})
}

func TestAPatchedPolicyHoldsFromTheNextRetry(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(refuse)
		sub := b.subscribe("sub", withRetry(2*time.Second, 8*time.Second))
		b.publish("m")
		time.Sleep(time.Second)
		change := subscriptions.Subscription{Name: sub}
		withRetry(100*time.Second, 600*time.Second)(&change)
		b.must(b.service.UpdateSubscription(b.Context(), change, []string{"retryPolicy"}))
		time.Sleep(400 * time.Second)
		got := gaps(b.web.seen())
		if len(got) < 2 {
			b.Fatalf("gaps %v, want at least 2", got)
		}
		b.wantBetween("the gap that had begun", got[0], 2*time.Second, 3*time.Second)
		b.wantBetween("the next gap", got[1], 200*time.Second, 300*time.Second)
	})
}

// Without a policy a message comes again at once, but for the push backoff: 100
// ms, then twice as long each time, up to a minute.
func TestADeadEndpointIsTriedEverMoreSeldom(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(refuse)
		b.subscribe("sub")
		b.publish("m")
		time.Sleep(20 * time.Minute)
		got := gaps(b.web.seen())
		want := minPushBackoff
		for i, gap := range got {
			b.wantBetween("gap", gap, want*8/10, min(want*12/10, maxPushBackoff))
			if i > 0 && gap < minPushBackoff {
				b.Errorf("gap %d is %v, below the minimum", i, gap)
			}
			want = min(want*2, maxPushBackoff)
		}
		if len(got) < 20 {
			b.Errorf("%d retries in 20 minutes", len(got))
		}
	})
}

func TestASuccessEndsThePushBackoff(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var healthy atomic.Bool
		b.web.answer(func(hit) (int, error) {
			if !healthy.Load() {
				return http.StatusServiceUnavailable, nil
			}
			return http.StatusOK, nil
		})
		sub := b.subscribe("sub")
		b.publish("first")
		time.Sleep(10 * time.Minute)
		healthy.Store(true)
		time.Sleep(2 * time.Minute)
		b.left(sub, 0)
		n := len(b.web.seen())
		b.publish("second")
		time.Sleep(100 * time.Millisecond)
		if got := len(b.web.seen()) - n; got != 1 {
			b.Errorf("%d pushes at once after the recovery, want 1", got)
		}
	})
}

// One message that is always refused costs the others nothing.
func TestAPoisonMessageHoldsNobodyUp(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.message == "poison" {
				return http.StatusBadRequest, h.work(20 * time.Millisecond)
			}
			return http.StatusOK, h.work(20 * time.Millisecond)
		})
		sub := b.subscribe("sub", withRetry(time.Second, 10*time.Second))
		b.publish("poison")
		for range 2000 {
			b.publish("good")
		}
		time.Sleep(5 * time.Second)
		b.left(sub, 1)
	})
}

// Even when nothing else is ever accepted, what is new gets its turn.
func TestNewMessagesAreTriedBesidePoison(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.message == "poison" {
				return http.StatusBadRequest, nil
			}
			return http.StatusOK, nil
		})
		sub := b.subscribe("sub")
		for range 10 {
			b.publish("poison")
		}
		time.Sleep(10 * time.Minute)
		for range 50 {
			b.publish("good")
		}
		time.Sleep(10 * time.Minute)
		b.left(sub, 10)
	})
}

// Case 1 of the field, in its three forms.
func TestNoPushAfterTheSubscriptionIsNoLongerPushed(t *testing.T) {
	for what, end := range map[string]func(*bubble, subscriptions.SubscriptionName) error{
		"deleted": func(b *bubble, s subscriptions.SubscriptionName) error {
			return b.service.DeleteSubscription(b.Context(), s)
		},
		"detached": func(b *bubble, s subscriptions.SubscriptionName) error {
			return b.service.DetachSubscription(b.Context(), s)
		},
		"turned to pull": func(b *bubble, s subscriptions.SubscriptionName) error {
			return b.service.ModifyPushConfig(b.Context(), s, nil, nil)
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.web.answer(refuse)
				sub := b.subscribe("sub", withRetry(3*time.Second, 10*time.Second))
				b.publish("a", "b", "c")
				time.Sleep(2 * time.Second)
				before := len(b.web.seen())
				b.must(nil, end(b, sub))
				time.Sleep(10 * time.Minute)
				if after := len(b.web.seen()); before == 0 || after != before {
					b.Errorf("%d pushes before and %d after", before, after-before)
				}
				if what == "turned to pull" {
					got, err := b.service.Pull(b.Context(), sub, 10, true)
					if err != nil || len(got) != 3 {
						b.Errorf("pull after it: %d messages, %v; want 3", len(got), err)
					}
				}
			})
		})
	}
}

func TestAnotherEndpointGetsTheNextLease(t *testing.T) {
	inBubble(t, func(b *bubble) {
		const good = "http://good.example/"
		b.web.answer(func(h hit) (int, error) {
			if h.url == good {
				return http.StatusOK, nil
			}
			return refuse(h)
		})
		sub := b.subscribe("sub")
		b.publish("old")
		time.Sleep(30 * time.Minute) // the old endpoint is tried once a minute now
		before := len(b.web.seen())
		b.must(nil, b.service.ModifyPushConfig(b.Context(), sub, &subscriptions.PushConfig{Endpoint: good}, nil))
		time.Sleep(1100 * time.Millisecond)
		b.publish("new")
		time.Sleep(100 * time.Millisecond)
		hits := b.web.seen()[before:]
		if !slices.ContainsFunc(hits, func(h hit) bool { return h.message == "new" }) ||
			slices.ContainsFunc(hits, func(h hit) bool { return h.url != good }) {
			b.Errorf("after the change the endpoints saw %v", hits)
		}
		time.Sleep(time.Minute)
		b.left(sub, 0)
	})
}
