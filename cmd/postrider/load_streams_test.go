//go:build load

package main

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"postrider/server/api"
	"postrider/storage/redistest"
)

const (
	streamCount = 500
	// streamsPerConnection is what a program has that subscribes to several things.
	streamsPerConnection = 10
)

var idleStreams = idleBounds{commands: 50, percent: 1}

// Streams on 500 subscriptions, whose clients send keep-alives as Google's do, cost next to nothing.
func TestLoadIdleStreams(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	count := countCommands(t, redis)
	processes, addrs := startServers(t, redis, 1)
	newLoadClient(t, addrs[0]).createStreamed()
	ctx, leave := context.WithCancel(t.Context())
	left := openStreams(ctx, t, addrs[0])
	idleStreams.hold(t, count, processes...)
	leave()
	if err := left(); err != nil {
		t.Fatal(err)
	}
	idleStreams.hold(t, count, processes...)
}

// Streams that come and go leave no goroutine and no memory behind. No other test may run beside.
func TestLoadStreamsComeAndGo(t *testing.T) {
	redis := redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = redis.URL() })
	c := newLoadClient(t, a.Addr())
	c.createStreamed()
	c.transport.CloseIdleConnections()
	round := func() {
		ctx, leave := context.WithCancel(t.Context())
		left := openStreams(ctx, t, a.Addr())
		leave()
		c.must(left())
	}
	round() // what stays for good is there then
	goroutines, memory := settled(t)
	for range 10 {
		round()
	}
	eventually(t, func() error {
		if n := runtime.NumGoroutine(); n > goroutines {
			return fmt.Errorf("%d goroutines, %d before", n, goroutines)
		}
		return nil
	})
	_, after := settled(t)
	t.Logf("%d goroutines; %d KB of heap before, %d KB after", goroutines, memory>>10, after>>10)
	if grown := int64(after) - int64(memory); grown > 2<<20 {
		t.Errorf("%d KB more memory after %d streams", grown>>10, 10*streamCount)
	}
}

// settled waits until the number of goroutines stays the same, and returns it and the memory in use.
func settled(t *testing.T) (goroutines int, memory uint64) {
	t.Helper()
	eventually(t, func() error {
		before := runtime.NumGoroutine()
		time.Sleep(300 * time.Millisecond)
		if goroutines = runtime.NumGoroutine(); goroutines != before {
			return fmt.Errorf("%d goroutines, then %d", before, goroutines)
		}
		return nil
	})
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return goroutines, stats.HeapAlloc
}

func (c *loadClient) createStreamed() {
	c.Helper()
	c.must(c.topic(c.Context(), "shared"))
	c.each(streamCount, func(ctx context.Context, i int) error {
		id, topic := topicID(i), "shared" // half of them
		if i%2 == 0 {
			topic = id
			if err := c.topic(ctx, id); err != nil {
				return err
			}
		}
		return c.subscription(ctx, id, api.Subscription{Topic: fullTopic(topic)})
	})
}

// openStreams opens a stream on each subscription, and returns once all are open. They stay until ctx ends; left returns when
// they are closed.
func openStreams(ctx context.Context, t *testing.T, addr string) (left func() error) {
	t.Helper()
	var all errgroup.Group
	open := make(chan error, streamCount)
	for first := 0; first < streamCount; first += streamsPerConnection {
		connection, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		var streams errgroup.Group
		for i := range streamsPerConnection {
			streams.Go(func() error { return stayOpen(ctx, connection, topicID(first+i), open) })
		}
		all.Go(func() error {
			err := streams.Wait()
			_ = connection.Close()
			return err
		})
	}
	for range streamCount {
		if err := <-open; err != nil {
			t.Fatal(err)
		}
	}
	return all.Wait
}

// stayOpen opens a stream, tells so, and sends keep-alives until ctx ends.
func stayOpen(ctx context.Context, connection *grpc.ClientConn, sub string, open chan<- error) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stream, err := pubsubpb.NewSubscriberClient(connection).StreamingPull(inner)
	if err == nil {
		err = stream.Send(&pubsubpb.StreamingPullRequest{
			Subscription: "projects/" + defaultProject + "/subscriptions/" + sub, StreamAckDeadlineSeconds: 60,
			MaxOutstandingMessages: 1000, ProtocolVersion: 1, ClientId: sub,
		})
	}
	if err == nil {
		_, err = stream.Header()
	}
	open <- err
	if err != nil {
		return nil // told already
	}
	ping := time.NewTicker(30 * time.Second)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
			if err := stream.Send(&pubsubpb.StreamingPullRequest{}); err != nil {
				return err
			}
			if _, err := stream.Recv(); err != nil {
				return err
			}
		}
	}
}
