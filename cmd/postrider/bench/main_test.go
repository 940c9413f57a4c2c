package bench_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"postrider/cmd/postrider/bench"
	"postrider/pusher"
	"postrider/server"
	"postrider/storage/memory"
	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(redistest.Wrap(m)) }

// startServer serves a store in this process until the test ends, and returns where.
func startServer(t *testing.T, store subscriptions.Store) string {
	t.Helper()
	service := subscriptions.NewService(store, subscriptions.Options{})
	http := httptest.NewServer(server.New(service, server.Options{}))
	manager := pusher.New(service, pusher.Options{})
	ctx, stop := context.WithCancel(context.Background())
	parts := make(chan error, 2)
	go func() { parts <- service.Run(ctx) }()
	go func() { parts <- manager.Run(ctx, ctx) }()
	t.Cleanup(func() {
		http.Close()
		stop()
		for range 2 {
			if err := <-parts; err != nil {
				t.Error(err)
			}
		}
	})
	return http.URL
}

// startFloor serves the floor in this process.
func startFloor(t *testing.T) string {
	t.Helper()
	floor, err := bench.NewFloor()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(floor)
	t.Cleanup(s.Close)
	return s.URL
}

func memoryServer(t *testing.T) string { return startServer(t, memory.New(memory.Options{})) }

func redisServer(t *testing.T) (url string, client *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	store, err := redisstream.Open(t.Context(), server.URL(), redisstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return startServer(t, store), server.Client(t)
}
