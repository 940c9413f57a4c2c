package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"postrider/pusher"
	"postrider/server/grpcapi"
	"postrider/storage/memory"
	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// grpcClient is Google's gRPC client, pointed at a server of ours.
type grpcClient struct {
	testing.TB
	ctx context.Context
	*pubsub.Client
}

// withGRPC runs a test against each store.
func withGRPC(t *testing.T, test func(grpcClient)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(newGRPC(t, memory.New(memory.Options{})))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(newGRPC(t, redisStore(t)))
	})
}

// redisStore is a store of its own on the Redis that all tests share.
func redisStore(t *testing.T) subscriptions.Store {
	t.Helper()
	store, err := redisstream.Open(t.Context(), redistest.Shared(t).URL(), redisstream.Options{Prefix: fmt.Sprintf("grpc-%x:", rand.Uint64())})
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

func newGRPC(t testing.TB, store subscriptions.Store) grpcClient {
	t.Helper()
	return connectGRPC(t, serveGRPC(t, store))
}

// connectGRPC makes a client do what PUBSUB_EMULATOR_HOST makes it do, without a variable that all tests of the process would
// share.
func connectGRPC(t testing.TB, addr string) grpcClient {
	t.Helper()
	client, err := pubsub.NewClient(t.Context(), "p", option.WithEndpoint(addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())), option.WithTelemetryDisabled())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return grpcClient{t, t.Context(), client}
}

// serveGRPC serves a store until the test ends.
func serveGRPC(t testing.TB, store subscriptions.Store) (addr string) {
	t.Helper()
	addr, _ = startGRPC(t, store, "127.0.0.1:0")
	return addr
}

// startGRPC serves a store until stop, or the test's end.
func startGRPC(t testing.TB, store subscriptions.Store, listen string) (addr string, stop func()) {
	t.Helper()
	service := subscriptions.NewService(store, subscriptions.Options{})
	over := grpcapi.New(service, grpcapi.Options{})
	pushes := pusher.New(service, pusher.Options{})
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 3)
	go func() { ended <- over.Serve(l) }()
	go func() { ended <- service.Run(ctx) }()
	go func() { ended <- pushes.Run(ctx, ctx) }()
	stop = sync.OnceFunc(func() {
		service.Drain()
		err := over.Shutdown(context.Background())
		cancel()
		if err := errors.Join(err, <-ended, <-ended, <-ended); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func (c grpcClient) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c grpcClient) topic(name string) {
	c.Helper()
	_, err := c.TopicAdminClient.CreateTopic(c.ctx, &pubsubpb.Topic{Name: name})
	c.must(err)
}

func (c grpcClient) subscribe(s *pubsubpb.Subscription) *pubsubpb.Subscription {
	c.Helper()
	if s.Topic == "" {
		s.Topic = orders
	}
	if s.Name == "" {
		s.Name = billing
	}
	created, err := c.SubscriptionAdminClient.CreateSubscription(c.ctx, s)
	c.must(err)
	return created
}
