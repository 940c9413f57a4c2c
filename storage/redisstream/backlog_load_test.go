//go:build load

package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// TestLoadBacklogCostsNothing measures what publish, lease and ack cost Redis with nothing, with a million messages undelivered,
// and with 100,000 outstanding.
func TestLoadBacklogCostsNothing(t *testing.T) {
	const backlog, outstanding, rounds = 1_000_000, 100_000, 300
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	empty, full, held := attach(t, s, "empty"), attach(t, s, "full"), attach(t, s, "held")
	full.fill(backlog)
	held.rules.Outstanding = 2 * outstanding
	held.fill(outstanding)
	for n := 0; n < outstanding; {
		got, err := s.Lease(t.Context(), subscriptions.LeaseRequest{
			Ref: held.ref, Rules: held.rules, Max: 200, MaxBytes: 10_000_000, Run: 1, Deadline: time.Hour,
		})
		held.ok(err)
		n += len(got.Deliveries)
	}
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
	few, many, most := measure(empty), measure(full), measure(held)
	t.Logf("a message, published, leased and acked, costs Redis %v without a backlog, %v with one of %d, and %v with %d outstanding",
		few, many, backlog, most, outstanding)
	if many > 2*few || most > 4*few {
		t.Errorf("messages cost %v, with a backlog %v, with many outstanding %v", few, many, most)
	}
	fewCalls := callsOfRound(server, empty, 100)
	delete(fewCalls, "xtrim") // as in TestCallsDoNotGrow
	for name, x := range map[string]*sub{"a backlog": full, "many outstanding": held} {
		for command, n := range callsOfRound(server, x, 100) {
			// What is outstanding holds the log where it is, which saves calls.
			if command != "xtrim" && n > fewCalls[command] {
				t.Errorf("with %s messages cost %d calls of %s, without %d", name, n, command, fewCalls[command])
			}
		}
	}
	if got := full.stats().Undelivered; got != backlog {
		t.Errorf("%d are undelivered, want %d", got, backlog)
	}
	if got := held.stats().Outstanding; got != outstanding {
		t.Errorf("%d are outstanding, want %d", got, outstanding)
	}
}
