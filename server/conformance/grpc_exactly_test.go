package conformance

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// Google's client hands a message out once its first extension is confirmed, and tells its user what became of each ack. What it
// says is acked never comes again, though some are refused first.
func TestGRPCExactlyOnce(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		const n = 2_000
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{EnableExactlyOnceDelivery: true, AckDeadlineSeconds: 10})
		c.publishMany(n)
		ctx, cancel := context.WithTimeout(c.ctx, 2*time.Minute)
		defer cancel()
		var mu sync.Mutex
		acked, refused := map[string]bool{}, 0
		c.must(c.Subscriber(billing).Receive(ctx, func(ctx context.Context, m *pubsub.Message) {
			mu.Lock()
			if acked[m.ID] {
				c.Errorf("%s came after its ack was confirmed", m.ID)
			}
			mu.Unlock()
			if rand.IntN(10) == 0 {
				result, err := m.NackWithResult().Get(ctx)
				if result != pubsub.AcknowledgeStatusSuccess || err != nil {
					c.Errorf("a nack: %v, %v", result, err)
				}
				mu.Lock()
				refused++
				mu.Unlock()
				return
			}
			result, err := m.AckWithResult().Get(ctx)
			if result != pubsub.AcknowledgeStatusSuccess || err != nil {
				c.Errorf("an ack: %v, %v", result, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if acked[m.ID] = true; len(acked) == n {
				cancel()
			}
		}))
		if len(acked) != n || refused == 0 {
			c.Errorf("%d messages were acked, want %d; %d were refused", len(acked), n, refused)
		}
	})
}
