package conformance

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// publishKeys publishes n messages to each key, numbered from 0.
func (c grpcClient) publishKeys(keys, n int) {
	c.Helper()
	publisher := c.Publisher(orders)
	publisher.EnableMessageOrdering = true
	defer publisher.Stop()
	var results []*pubsub.PublishResult
	for i := range n {
		for k := range keys {
			results = append(results, publisher.Publish(c.ctx, &pubsub.Message{Data: strconv.AppendInt(nil, int64(i), 10), OrderingKey: fmt.Sprint("key-", k)}))
		}
	}
	for _, r := range results {
		_, err := r.Get(c.ctx)
		c.must(err)
	}
}

// Messages of a key come in order, to however many streams; after a nack all later ones of the key come again, in order.
func TestGRPCOrdering(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		const keys, n = 100, 100
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{EnableMessageOrdering: true})
		c.publishKeys(keys, n)
		var mu sync.Mutex
		last, refused, open := map[string]int{}, map[string]bool{}, map[string]bool{}
		done := map[string]bool{}
		settings := pubsub.DefaultReceiveSettings
		settings.NumGoroutines = 3
		c.receive(billing, settings, func(m *pubsub.Message) bool {
			mu.Lock()
			defer mu.Unlock()
			i, err := strconv.Atoi(string(m.Data))
			c.must(err)
			before, seen := last[m.OrderingKey]
			if !seen {
				before = -1
			}
			if i > before+1 {
				c.Errorf("%s: %d came after %d", m.OrderingKey, i, before)
			}
			last[m.OrderingKey] = i
			// Each key has one message refused, at another place. What the client had of the key then, it still hands out; it
			// comes again nevertheless.
			if m.OrderingKey == fmt.Sprint("key-", i) {
				if !refused[m.OrderingKey] {
					refused[m.OrderingKey], open[m.OrderingKey] = true, true
					m.Nack()
					return false
				}
				open[m.OrderingKey] = false
			}
			m.Ack()
			if i == n-1 && !open[m.OrderingKey] {
				done[m.OrderingKey] = true
			}
			return len(done) == keys
		})
		for key, i := range last {
			if i != n-1 {
				c.Errorf("%s ended with %d", key, i)
			}
		}
		if len(last) != keys || len(refused) != keys {
			c.Errorf("%d keys came, %d were refused once", len(last), len(refused))
		}
	})
}
