package pusher

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// beside runs a second server without pushes, and makes a subscription that the
// first one owns.
func (b *bubble) beside(change ...func(*subscriptions.Subscription)) (other *subscriptions.Service, sub subscriptions.SubscriptionName) {
	b.Helper()
	other = subscriptions.NewService(b.store, subscriptions.Options{Server: "other"})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- other.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	time.Sleep(2 * time.Second)
	for i := range 50 {
		sub = b.subscribe(fmt.Sprint("sub-", i), change...)
		if e, err := b.service.Explain(b.Context(), sub); err == nil && e.Owner != "other" {
			return other, sub
		}
		b.must(nil, b.service.DeleteSubscription(b.Context(), sub))
	}
	b.Fatal("the second server owns everything")
	return nil, sub
}

// explained asks both servers, which must say the same.
func (b *bubble) explained(other *subscriptions.Service, sub subscriptions.SubscriptionName) subscriptions.Explanation {
	b.Helper()
	asked, err := other.Explain(b.Context(), sub)
	b.must(nil, err)
	owner, err := b.service.Explain(b.Context(), sub)
	b.must(nil, err)
	if fmt.Sprintf("%+v", asked) != fmt.Sprintf("%+v", owner) {
		b.Errorf("one server says  %+v\nthe owner says %+v", asked, owner)
	}
	return asked
}

// Whatever server is asked, it passes on what the owner knows.
func TestTheOwnerExplains(t *testing.T) {
	for what, c := range map[string]struct {
		answer endpoint
		change func(*subscriptions.Subscription)
		want   string
		check  func(subscriptions.PushReport) bool
	}{
		"Retry-After": {
			func(h hit) (int, error) {
				h.answer.Set("Retry-After", "120")
				return http.StatusTooManyRequests, nil
			}, nil, "more: the endpoint asked for it with Retry-After",
			func(r subscriptions.PushReport) bool {
				return r.RetryAfter.Sub(r.At) > time.Minute && r.Errors[0].Status == 429
			},
		},
		"push backoff": {
			func(h hit) (int, error) { return http.StatusServiceUnavailable, h.work(time.Millisecond) }, nil,
			"more, since most pushes were refused: the endpoint answered 503 Service Unavailable after 1ms",
			func(r subscriptions.PushReport) bool { return r.Backoff.After(r.At) && len(r.Errors) == 5 },
		},
		"a slow endpoint": {
			func(h hit) (int, error) { return http.StatusOK, h.work(5 * time.Second) }, nil,
			"as many as flow control lets go",
			func(r subscriptions.PushReport) bool { return r.InFlight == firstWindow && r.Window == firstWindow },
		},
		"a limit of its own": {
			func(h hit) (int, error) { return http.StatusOK, h.work(5 * time.Second) },
			func(s *subscriptions.Subscription) { s.PushLimits.MaxOutstanding = 2 },
			"2 messages are with the endpoint, which is as many as postrider.pushLimits.maxOutstanding allows",
			func(r subscriptions.PushReport) bool { return r.InFlight == 2 && r.Limit == 2 },
		},
		"a rate of its own": {
			accept, func(s *subscriptions.Subscription) { s.PushLimits.MaxPerSecond = 0.1 },
			"more: postrider.pushLimits.maxPerSecond",
			func(r subscriptions.PushReport) bool { return r.Paced.After(r.At) && len(r.Errors) == 0 },
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.web.answer(c.answer)
				change := []func(*subscriptions.Subscription){}
				if c.change != nil {
					change = append(change, c.change)
				}
				other, sub := b.beside(change...)
				b.publish("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11")
				time.Sleep(4 * time.Second)
				e := b.explained(other, sub)
				if !e.Answered || !strings.Contains(e.Summary, c.want) || !c.check(e.Push) {
					b.Errorf("it says %+v", e)
				}
			})
		})
	}
}

// Who owns it by rendezvous may not be there any more: that is said, with the last
// that is known.
func TestAnOwnerThatDoesNotAnswer(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.outage()
		sub := b.subscribe("sub")
		b.publish("0", "1", "2", "3", "4")
		time.Sleep(5 * time.Second)
		b.stopFetch()
		b.stopWork()
		b.pushing.Wait()
		time.Sleep(30 * time.Second)
		start := time.Now()
		e, err := b.service.Explain(b.Context(), sub)
		b.must(nil, err)
		if e.Answered || e.Push.Age < 30*time.Second || e.Push.Errors[0].Status != http.StatusServiceUnavailable {
			b.Errorf("it says %+v", e)
		}
		if took := time.Since(start); took != time.Second {
			b.Errorf("that took %v", took)
		}
	})
}

// Unasked, an owner speaks of refusals alone, and seldom.
func TestAnOwnerSpeaksSeldom(t *testing.T) {
	for what, c := range map[string]struct {
		answer endpoint
		most   int
	}{
		"all goes well": {accept, 0},
		"an outage":     {func(h hit) (int, error) { return http.StatusServiceUnavailable, h.work(time.Millisecond) }, 61},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.web.answer(c.answer)
				b.subscribe("sub")
				for range 600 {
					b.publish("m", "m", "m")
					time.Sleep(time.Second)
				}
				if got := b.store.told(); got > c.most || c.most > 0 && got == 0 {
					b.Errorf("the owner spoke %d times in 10 minutes, want at most %d", got, c.most)
				}
			})
		})
	}
}
