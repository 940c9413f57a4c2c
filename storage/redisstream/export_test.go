package redisstream

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// What tests in another package look at.

func (s *Store) Client() redis.UniversalClient { return s.client }

func (s *Store) LogKey(uid string) string { return s.keys.topic(uid, "log") }

// Queues is how many topics have publishes under way.
func (s *Store) Queues() int {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	return len(s.batches.queues)
}

// Waiting is how many publishes wait for one under way.
func (s *Store) Waiting() int {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	n := 0
	for _, q := range s.batches.queues {
		n += len(q.pending)
	}
	return n
}

// Channels lists what the store is subscribed to.
func (s *Store) Channels() []string { return s.hub.names() }

// SetPatience changes how long silence is borne; before the first Watch.
func (s *Store) SetPatience(d time.Duration) { s.hub.patience = d }

// SetLinger changes how long channels linger; before the first Watch.
func (s *Store) SetLinger(d time.Duration) { s.hub.linger = d }

// Prefix begins all of the store's keys.
func (s *Store) Prefix() string { return s.keys.prefix }
