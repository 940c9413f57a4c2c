package conformance

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"

	"postrider/storage/memory"
	"postrider/storage/redisstream"
	"postrider/storage/redistest"
)

// BenchmarkStreamingPull receives and acks messages of 256 bytes by Google's Go client, from Postrider and, for comparison, from
// Google's in-memory fake, which looks through all that it holds for every message: give it few (-benchtime 2000x).
func BenchmarkStreamingPull(b *testing.B) {
	for name, serve := range map[string]func(*testing.B) string{
		"redis": func(b *testing.B) string {
			store, err := redisstream.Open(b.Context(), redistest.Shared(b).URL(), redisstream.Options{Prefix: "bench-" + strconv.FormatUint(rand.Uint64(), 36) + ":"})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = store.Close() })
			return serveGRPC(b, store)
		},
		"memory": func(b *testing.B) string { return serveGRPC(b, memory.New(memory.Options{})) },
		"pstest": func(b *testing.B) string {
			fake := pstest.NewServer()
			b.Cleanup(func() { _ = fake.Close() })
			return fake.Addr
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := connectGRPC(b, serve(b))
			c.topic(orders)
			c.subscribe(&pubsubpb.Subscription{AckDeadlineSeconds: 600})
			c.publishBytes(b.N, 256)
			ctx, cancel := context.WithCancel(c.ctx)
			defer cancel()
			subscriber := c.Subscriber(billing)
			// The client acks ten times a second, so its default of 1,000 would be the bound.
			subscriber.ReceiveSettings.MaxOutstandingMessages = 10_000
			var n atomic.Int64
			b.ResetTimer()
			start := time.Now()
			c.must(subscriber.Receive(ctx, func(_ context.Context, m *pubsub.Message) {
				m.Ack()
				if n.Add(1) == int64(b.N) {
					cancel()
				}
			}))
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "messages/s")
		})
	}
}

func (c grpcClient) publishBytes(n, size int) {
	c.Helper()
	publisher := c.Publisher(orders)
	defer publisher.Stop()
	results := make([]*pubsub.PublishResult, n)
	for i := range results {
		results[i] = publisher.Publish(c.ctx, &pubsub.Message{Data: make([]byte, size)})
	}
	for _, r := range results {
		_, err := r.Get(c.ctx)
		c.must(err)
	}
}
