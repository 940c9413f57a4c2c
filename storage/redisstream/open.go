package redisstream

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// Options are what a store takes from outside, all optional.
type Options struct {
	// Log gets what nobody is there to be told as an error; slog.Default() by default.
	Log *slog.Logger
	// CAFile holds the certificates that a TLS server's is checked against, in PEM, in place of the system's. The URL's
	// query parameter ca does the same.
	CAFile string
	// Prefix begins every key and channel; "postrider:" by default. With different ones several Postriders share a Redis.
	Prefix string
	// PoolSize is how many connections there may be to each server; 10 a CPU by default.
	PoolSize int
	// Now and Salt replace Redis's clock and the random part of message ids. Only tests set them.
	Now  func() time.Time
	Salt func() int64
}

// linger is how long a topic that nobody watches any more stays subscribed to.
const linger = 5 * time.Second

// Store is subscriptions.Store on Redis.
type Store struct {
	client  redis.UniversalClient
	options Options
	log     *slog.Logger
	keys    names
	batches *batches
	hub     *hub
}

var _ subscriptions.Store = (*Store)(nil)

// Open connects to Redis and checks that it can serve as a store. The forms of the URL are described at [ParseURL]; whether
// Redis is a cluster is found out.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	silenceClient()
	client, err := dial(ctx, url, options)
	if err != nil {
		return nil, err
	}
	s := newStore(client, options)
	if err := s.check(ctx); err != nil {
		_ = client.Close()
		return nil, err
	}
	return s, nil
}

func newStore(client redis.UniversalClient, options Options) *Store {
	s := &Store{client: client, options: options, log: options.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.keys = names{cmp.Or(options.Prefix, defaultPrefix)}
	s.batches = &batches{send: s.publishNow, queues: map[string]*queue{}}
	s.hub = newHub(client.Subscribe, linger, s.log)
	return s
}

// Close waits for publishes under way, ends all watches and closes the connections.
func (s *Store) Close() error {
	s.batches.close()
	s.hub.close()
	return s.client.Close()
}

func errClosed() error { return subscriptions.Errorf(subscriptions.Unavailable, "the store is closed") }

// silenceClient keeps go-redis from logging on its own: each failed dial would be a line, while what matters reaches us as
// an error.
var silenceClient = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
