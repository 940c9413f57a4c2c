package pusher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// countedSteps is a backend that counts steps, each of which takes a while.
type countedSteps struct {
	*subscriptions.Service
	leases, settlements atomic.Int64
	took                time.Duration
}

func (c *countedSteps) LeasePush(ctx context.Context, name subscriptions.SubscriptionName, limit int) (subscriptions.PushLease, error) {
	c.leases.Add(1)
	time.Sleep(c.took)
	return c.Service.LeasePush(ctx, name, limit)
}

func (c *countedSteps) Settle(ctx context.Context, sub subscriptions.Subscription, s subscriptions.Settlement) error {
	c.settlements.Add(1)
	time.Sleep(c.took)
	return c.Service.Settle(ctx, sub, s)
}

// counting puts a Manager in place of the bubble's, whose steps are counted.
func (b *bubble) counting(took time.Duration) *countedSteps {
	b.stopFetch()
	b.stopped()
	steps := &countedSteps{Service: b.service, took: took}
	b.push(steps)
	return steps
}

// A step of the store costs about the same for one message as for many, so a
// backlog goes by in few of them, though pushes end one by one.
func TestABacklogIsLeasedAndSettledInBatches(t *testing.T) {
	inBubble(t, func(b *bubble) {
		steps := b.counting(200 * time.Microsecond)
		b.web.answer(func(h hit) (int, error) {
			return http.StatusOK, h.work(time.Millisecond + rand.N(9*time.Millisecond))
		})
		const messages = 5000
		sub := b.subscribe("sub", func(s *subscriptions.Subscription) { s.Push = nil })
		for i := range messages {
			b.publish(fmt.Sprint(i))
		}
		b.must(nil, b.service.ModifyPushConfig(b.Context(), sub, &subscriptions.PushConfig{Endpoint: testEndpoint}, nil))
		time.Sleep(time.Minute)
		b.left(sub, 0)
		leases, settlements := steps.leases.Load(), steps.settlements.Load()
		b.Logf("%d messages in %d leases and %d settlements", messages, leases, settlements)
		if leases > messages/20 || settlements > messages/10 {
			b.Errorf("%d messages took %d leases and %d settlements", messages, leases, settlements)
		}
	})
}

// Steps go on side by side: neither waits for the other.
func TestALeaseDoesNotWaitForASettlement(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.counting(time.Second)
		b.subscribe("sub")
		b.publish("first")
		time.Sleep(1500 * time.Millisecond) // it has been pushed, and is being settled
		b.publish("second")
		published := time.Since(b.web.started)
		time.Sleep(time.Minute)
		hits := b.web.seen()
		if len(hits) != 2 {
			b.Fatalf("the endpoint saw %v", hits)
		}
		b.wantBetween("the second push", hits[1].at-published, time.Second, time.Second)
	})
}

// Nothing waits for company that will not come.
func TestALoneOutcomeIsSettledAtOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		sub := b.subscribe("sub")
		b.publish("alone")
		synctest.Wait()
		b.left(sub, 0)
	})
}

func TestAnOutcomeWaitsAMomentForOthers(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.message == "slow" {
				return http.StatusOK, h.work(time.Second)
			}
			return http.StatusOK, nil
		})
		sub := b.subscribe("sub")
		b.publish("slow", "quick")
		synctest.Wait()
		b.left(sub, 2)
		time.Sleep(settleSoon)
		synctest.Wait()
		b.left(sub, 1)
	})
}
