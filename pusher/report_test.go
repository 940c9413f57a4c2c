package pusher

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"postrider/subscriptions"
)

// alone is how long, by the overview, the endpoint of a subscription still asks to be left alone, and what it answered last.
func (b *bubble) alone(name subscriptions.SubscriptionName) (left time.Duration, status int) {
	b.Helper()
	o, err := b.service.Overview(b.Context())
	b.must(nil, err)
	i := slices.IndexFunc(o.Subscriptions, func(r subscriptions.SubscriptionReport) bool { return r.Subscription.Name == name })
	if i < 0 {
		b.Fatalf("%s is not in the overview", name)
	}
	p := o.Subscriptions[i].Push
	if len(p.Errors) > 0 {
		status = p.Errors[0].Status
	}
	return p.Left(p.RetryAfter), status
}

// What an endpoint asks for is in the overview although nobody asks its owner, and although the owner has just said how pushes go.
func TestTheOverviewKnowsOfRetryAfter(t *testing.T) {
	inBubble(t, func(b *bubble) {
		started := time.Now()
		b.web.answer(func(h hit) (int, error) {
			if time.Since(started) < 4*time.Second {
				return http.StatusServiceUnavailable, nil
			}
			h.answer.Set("Retry-After", "300")
			return http.StatusTooManyRequests, nil
		})
		sub := b.subscribe("sub")
		b.publish("m")
		time.Sleep(20 * time.Second)
		left, status := b.alone(sub)
		b.wantBetween("the time left", left, 4*time.Minute+30*time.Second, 8*time.Minute)
		if status != http.StatusTooManyRequests {
			b.Errorf("the last answer is %d", status)
		}
		time.Sleep(2 * time.Minute)
		later, _ := b.alone(sub)
		b.wantBetween("what has passed", left-later, 2*time.Minute-time.Second, 2*time.Minute+time.Second)
	})
}

// What is over before its time is not in the overview any more.
func TestTheOverviewKnowsThatRetryAfterIsOver(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.message == "slow" {
				return http.StatusOK, h.work(9 * time.Second)
			}
			h.answer.Set("Retry-After", "300")
			return http.StatusTooManyRequests, nil
		})
		sub := b.subscribe("sub")
		b.publish("slow", "refused")
		time.Sleep(8 * time.Second)
		if left, _ := b.alone(sub); left < 4*time.Minute {
			b.Errorf("it asks to be left alone for %v", left)
		}
		time.Sleep(15 * time.Second) // the slow one was accepted: the endpoint works
		if left, _ := b.alone(sub); left != 0 {
			b.Errorf("it still asks to be left alone for %v", left)
		}
	})
}
