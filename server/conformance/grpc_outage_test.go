package conformance

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// openRedis opens a store on a Redis, under the same prefix for all of a test's servers.
func openRedis(t *testing.T, redis *redistest.Server) subscriptions.Store {
	t.Helper()
	store, err := redisstream.Open(t.Context(), redis.URL(), redisstream.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A subscriber outlives a Redis that dies and comes back.
func TestGRPCRedisDies(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, redistest.AppendOnly("always"))
	c := newGRPC(t, openRedis(t, redis))
	c.topic(orders)
	c.subscribe(&pubsubpb.Subscription{})
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	got := make(chan string, 100)
	received := make(chan error, 1)
	go func() {
		received <- c.Subscriber(billing).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
			m.Ack()
			got <- string(m.Data)
		})
	}()
	c.publishMany(1)
	<-got
	for range 2 {
		redis.Kill(t)
		redis.Restart(t)
		c.publishMany(1)
		<-got
	}
	cancel()
	c.must(<-received)
}

// A client behind a balancer streams from one server and acks at another. Its window must open all the same.
func TestGRPCAcksAtAnotherServer(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	store := openRedis(t, redis)
	streams, calls := newGRPC(t, store), newGRPC(t, openRedis(t, redis))
	streams.topic(orders)
	streams.subscribe(&pubsubpb.Subscription{})
	awaitServers(t, store, 2)
	calls.publishMany(500)
	rpc, err := streams.SubscriptionAdminClient.StreamingPull(streams.ctx)
	streams.must(err)
	streams.must(rpc.Send(&pubsubpb.StreamingPullRequest{Subscription: billing, StreamAckDeadlineSeconds: 600, MaxOutstandingMessages: 50}))
	var acking sync.WaitGroup
	start := time.Now()
	for seen := 0; seen < 500; {
		response, err := rpc.Recv()
		streams.must(err)
		ids := make([]string, len(response.ReceivedMessages))
		for i, m := range response.ReceivedMessages {
			ids[i] = m.AckId
		}
		if seen += len(ids); len(ids) > 50 {
			t.Errorf("%d messages in a window of 50", len(ids))
		}
		acking.Go(func() {
			if err := calls.SubscriptionAdminClient.Acknowledge(calls.ctx, &pubsubpb.AcknowledgeRequest{Subscription: billing, AckIds: ids}); err != nil {
				t.Error(err)
			}
		})
	}
	acking.Wait()
	t.Logf("500 messages in windows of 50 took %v", time.Since(start))
	streams.must(rpc.CloseSend())
}

// awaitServers waits until so many servers know of one another.
func awaitServers(t *testing.T, store subscriptions.Store, n int) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		beat, err := store.Beat(t.Context(), "observer", time.Millisecond, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(beat.Live) > n { // and the observer
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("alive: %v", beat.Live)
		}
	}
}
