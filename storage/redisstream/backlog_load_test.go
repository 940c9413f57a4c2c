//go:build load

package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
)

// TestLoadBacklogCostsNothing measures what publish, lease and ack cost Redis with nothing and with a million messages
// undelivered.
func TestLoadBacklogCostsNothing(t *testing.T) {
	const backlog, rounds = 1_000_000, 300
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	empty, full := attach(t, s, "empty"), attach(t, s, "full")
	full.fill(backlog)
	measure := func(x *sub) time.Duration {
		x.Helper()
		since := cpu(t, server)
		for range rounds {
			x.fill(100)
			x.ack(x.lease(100)...)
		}
		return (cpu(t, server) - since) / rounds / 100
	}
	measure(empty)
	few, many := measure(empty), measure(full)
	t.Logf("a message, published, leased and acked, costs Redis %v without a backlog and %v with one of %d", few, many, backlog)
	if many > 2*few {
		t.Errorf("a backlog makes messages cost %v instead of %v", many, few)
	}
	if got := full.stats().Undelivered; got != backlog {
		t.Errorf("%d are undelivered, want %d", got, backlog)
	}
}
