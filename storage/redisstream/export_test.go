package redisstream

import "github.com/redis/go-redis/v9"

// What tests in another package look at.

func (s *Store) Client() redis.UniversalClient { return s.client }

func (s *Store) LogKey(uid string) string { return s.keys.topic(uid, "log") }
