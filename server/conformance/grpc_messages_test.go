package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// publishMany publishes n messages as the client does it: in batches, side by side.
func (c grpcClient) publishMany(n int) {
	c.Helper()
	publisher := c.Publisher(orders)
	defer publisher.Stop()
	results := make([]*pubsub.PublishResult, n)
	for i := range results {
		results[i] = publisher.Publish(c.ctx, &pubsub.Message{Data: fmt.Append(nil, i)})
	}
	for _, r := range results {
		_, err := r.Get(c.ctx)
		c.must(err)
	}
}

// receiveAll receives until n different messages have come, and acks them.
func (c grpcClient) receiveAll(settings pubsub.ReceiveSettings, n int) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	var mu sync.Mutex
	seen := map[string]int{}
	subscriber := c.Subscriber(billing)
	subscriber.ReceiveSettings = settings
	c.must(subscriber.Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		m.Ack()
		mu.Lock()
		defer mu.Unlock()
		if seen[string(m.Data)]++; len(seen) == n {
			cancel()
		}
	}))
	twice := 0
	for _, times := range seen {
		if times > 1 {
			twice++
		}
	}
	if twice > 0 {
		c.Errorf("%d of %d messages came more than once", twice, n)
	}
}

func TestGRPCTenThousandMessages(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{})
		c.publishMany(10_000)
		c.receiveAll(pubsub.DefaultReceiveSettings, 10_000)
	})
}
