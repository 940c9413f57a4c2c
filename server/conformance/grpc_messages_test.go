package conformance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"postrider/storage/memory"
)

// publishMany publishes n messages as the client does it: in batches, side by side.
func (c grpcClient) publishMany(n int) {
	c.Helper()
	publisher := c.Publisher(orders)
	defer publisher.Stop()
	results := make([]*pubsub.PublishResult, n)
	for i := range results {
		results[i] = publisher.Publish(c.ctx, &pubsub.Message{Data: strconv.AppendInt(nil, int64(i), 10), Attributes: map[string]string{"n": strconv.Itoa(i)}})
	}
	for _, r := range results {
		_, err := r.Get(c.ctx)
		c.must(err)
	}
}

// receive receives until handle is done.
func (c grpcClient) receive(subscription string, settings pubsub.ReceiveSettings, handle func(m *pubsub.Message) (done bool)) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	subscriber := c.Subscriber(subscription)
	subscriber.ReceiveSettings = settings
	c.must(subscriber.Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		if handle(m) {
			cancel()
		}
	}))
}

// TestGRPCFlowControl receives 10,000 messages through windows of several sizes. The client acks by calls of its own, so nothing
// goes on unless the server sees that they free places.
func TestGRPCFlowControl(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		const n = 10_000
		c.topic(orders)
		for i, settings := range []pubsub.ReceiveSettings{
			pubsub.DefaultReceiveSettings,
			{MaxOutstandingMessages: 100, NumGoroutines: 1},
			{MaxOutstandingMessages: -1, MaxOutstandingBytes: 2_000, NumGoroutines: 4},
		} {
			name := fmt.Sprint(billing, "-", i)
			c.subscribe(&pubsubpb.Subscription{Name: name})
			want := n
			if i > 0 {
				want = n / 10 // the smaller the window, the longer it takes: acks wait 100 ms in the client
			}
			c.publishMany(want)
			var mu sync.Mutex
			seen := map[string]int{}
			c.receive(name, settings, func(m *pubsub.Message) bool {
				m.Ack()
				mu.Lock()
				defer mu.Unlock()
				if m.Attributes["n"] != string(m.Data) {
					c.Errorf("message %q has the attributes %v", m.Data, m.Attributes)
				}
				seen[m.ID]++
				return len(seen) == want
			})
			for id, times := range seen {
				if times > 1 {
					c.Errorf("%+v: message %s came %d times", settings, id, times)
				}
			}
		}
	})
}

func TestGRPCNack(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		c.topic(orders)
		c.topic(dead)
		c.subscribe(&pubsubpb.Subscription{DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: dead, MaxDeliveryAttempts: 10}})
		c.publishMany(20)
		var mu sync.Mutex
		var acked int
		attempts := map[string][]int{}
		c.receive(billing, pubsub.DefaultReceiveSettings, func(m *pubsub.Message) bool {
			mu.Lock()
			defer mu.Unlock()
			attempts[m.ID] = append(attempts[m.ID], *m.DeliveryAttempt)
			if *m.DeliveryAttempt < 3 {
				m.Nack()
				return false
			}
			m.Ack()
			acked++
			return acked == 20
		})
		for id, got := range attempts {
			if fmt.Sprint(got) != "[1 2 3]" {
				c.Errorf("message %s had the attempts %v", id, got)
			}
		}
	})
}

func TestGRPCDeadLetter(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		c.topic(orders)
		c.topic(dead)
		c.subscribe(&pubsubpb.Subscription{DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: dead, MaxDeliveryAttempts: 5}})
		morgue := "projects/p/subscriptions/morgue"
		c.subscribe(&pubsubpb.Subscription{Name: morgue, Topic: dead})
		c.publishMany(3)
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		nacking := make(chan error, 1)
		var refused atomic.Int64
		go func() {
			nacking <- c.Subscriber(billing).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
				refused.Add(1)
				m.Nack()
			})
		}()
		var mu sync.Mutex
		letters := map[string]map[string]string{}
		c.receive(morgue, pubsub.DefaultReceiveSettings, func(m *pubsub.Message) bool {
			m.Ack()
			mu.Lock()
			defer mu.Unlock()
			letters[string(m.Data)] = m.Attributes
			if m.DeliveryAttempt != nil {
				c.Error("an attempt without a dead-letter policy")
			}
			return len(letters) == 3
		})
		cancel()
		c.must(<-nacking)
		for data, attributes := range letters {
			if attributes["n"] != data || attributes["CloudPubSubDeadLetterSourceDeliveryCount"] != "5" ||
				attributes["CloudPubSubDeadLetterSourceSubscription"] != "billing" || attributes["CloudPubSubDeadLetterSourceSubscriptionProject"] != "p" ||
				attributes["CloudPubSubDeadLetterSourceTopicPublishTime"] == "" {
				c.Errorf("dead letter %s has the attributes %v", data, attributes)
			}
		}
		if refused.Load() != 15 {
			c.Errorf("refused %d times, want 15", refused.Load())
		}
	})
}

// A message that takes longer than its lease is not given to anybody else: the client extends it.
func TestGRPCLeaseIsExtended(t *testing.T) {
	t.Parallel()
	c := newGRPC(t, memory.New(memory.Options{}))
	c.topic(orders)
	c.subscribe(&pubsubpb.Subscription{})
	c.publishMany(1)
	var times atomic.Int64
	settings := pubsub.ReceiveSettings{MaxExtension: time.Minute, MaxDurationPerAckExtension: 10 * time.Second, NumGoroutines: 1}
	late := make(chan struct{})
	time.AfterFunc(12*time.Second, func() { close(late) })
	c.receive(billing, settings, func(m *pubsub.Message) bool {
		if times.Add(1) > 1 {
			t.Error("the message came again")
		}
		<-late
		m.Ack()
		return true
	})
}

// The variable is all that a program has to be told.
func TestGRPCEmulatorHost(t *testing.T) {
	t.Setenv("PUBSUB_EMULATOR_HOST", serveGRPC(t, memory.New(memory.Options{})))
	client, err := pubsub.NewClient(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := grpcClient{t, t.Context(), client}
	c.topic(orders)
	c.subscribe(&pubsubpb.Subscription{})
	c.publishMany(1)
	c.receive(billing, pubsub.DefaultReceiveSettings, func(m *pubsub.Message) bool {
		m.Ack()
		return string(m.Data) == "0"
	})
}

// Streams end when the server stops, and go on at the next one, as if nothing had been.
func TestGRPCReconnects(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	addr, stop := startGRPC(t, store, "127.0.0.1:0")
	c := connectGRPC(t, addr)
	c.topic(orders)
	c.subscribe(&pubsubpb.Subscription{})
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	got := make(chan string, 10)
	received := make(chan error, 1)
	go func() {
		received <- c.Subscriber(billing).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
			m.Ack()
			got <- string(m.Data)
		})
	}()
	c.publishMany(1)
	<-got
	stop()
	_, stop = startGRPC(t, store, addr)
	defer stop()
	c.publishMany(1)
	<-got
	cancel()
	c.must(<-received)
}

// Large messages go through in both directions.
func TestGRPCLargeMessages(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{})
		publisher := c.Publisher(orders)
		defer publisher.Stop()
		for range 3 {
			_, err := publisher.Publish(c.ctx, &pubsub.Message{Data: []byte(strings.Repeat("x", 9_000_000))}).Get(c.ctx)
			c.must(err)
		}
		var n atomic.Int64
		c.receive(billing, pubsub.DefaultReceiveSettings, func(m *pubsub.Message) bool {
			m.Ack()
			if len(m.Data) != 9_000_000 {
				c.Errorf("%d bytes", len(m.Data))
			}
			return n.Add(1) == 3
		})
	})
}
