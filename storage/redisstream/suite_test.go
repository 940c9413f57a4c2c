package redisstream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"postrider/storage/memory"
	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/storage/storagetest"
	"postrider/subscriptions"
)

// slack is how many entries more than needed a log may hold: one node of a stream.
const slack = 100

func TestStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, factory(redistest.Shared(t).URL()))
}

// TestSideBySide runs random operations against this store and the specification.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	storagetest.SideBySide(t, specification, factory(redistest.Shared(t).URL()))
}

func specification(*testing.T) storagetest.Fixture {
	clock := storagetest.NewClock()
	s := memory.New(memory.Options{Now: clock.Now, Salt: storagetest.Salt})
	return storagetest.Fixture{Store: s, Clock: clock, LogLength: s.LogLength, Vanish: s.Vanish}
}

// factory makes stores that share a server and nothing on it.
func factory(url string) storagetest.Factory {
	return func(t *testing.T) storagetest.Fixture {
		t.Helper()
		clock := storagetest.NewClock()
		s := open(t, url, redisstream.Options{Now: clock.Now, Salt: storagetest.Salt})
		return storagetest.Fixture{
			Store: s,
			Clock: clock,
			Slack: slack,
			LogLength: func(topicUID string) int {
				n, err := s.Client().XLen(t.Context(), s.LogKey(topicUID)).Result()
				if err != nil {
					t.Fatal(err)
				}
				return int(n)
			},
			Vanish: func(topicUID string, id subscriptions.MessageID) {
				if err := s.Client().XDel(t.Context(), s.LogKey(topicUID), id.String()).Err(); err != nil {
					t.Fatal(err)
				}
			},
		}
	}
}

// open opens a store with a prefix of its own, unless one is given.
func open(t testing.TB, url string, options redisstream.Options) *redisstream.Store {
	t.Helper()
	if options.Prefix == "" {
		options.Prefix = fmt.Sprintf("test-%x:", rand.Uint64())
	}
	s, err := redisstream.Open(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
