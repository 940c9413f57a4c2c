package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/storage/storagetest"
	"postrider/subscriptions"
)

// TestLooksReachFar: how far a lease with a filter looks follows from the messages that lie there, not from the largest one that
// there ever was, wherever it lies and whenever the others were published. And one look reads little more than one page.
func TestLooksReachFar(t *testing.T) {
	t.Parallel()
	const small, batches = 500, 12
	for name, pause := range map[string]func(batch int) time.Duration{
		"at one time":              func(int) time.Duration { return 0 },
		"one batch a millisecond":  func(int) time.Duration { return time.Millisecond },
		"a day's pause before one": func(batch int) time.Duration { return time.Duration(batch/(batches-1)) * 24 * time.Hour },
		"ever more slowly":         func(batch int) time.Duration { return time.Millisecond << (2 * batch) },
	} {
		for _, large := range []int{0, batches / 2, batches} { // the batch that the large message comes before
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				clock := storagetest.NewClock()
				x := attach(t, open(t, server.URL(), redisstream.Options{Now: clock.Now}), "topic")
				x.rules.Match, x.rules.Retention = matching(t, `attributes:rare`), 1000*time.Hour
				publish := func(msgs ...subscriptions.Message) {
					_, err := x.store.Publish(t.Context(), x.topic, msgs)
					x.ok(err)
				}
				for batch := range batches + 1 {
					if batch == large {
						publish(subscriptions.Message{Data: make([]byte, 3_000_000)})
					}
					if batch < batches {
						clock.Advance(pause(batch))
						publish(messages(small)...)
					}
				}
				publish(subscriptions.Message{Attributes: map[string]string{"rare": "yes"}})
				x.lease(1) // the scripts are known; this is the first of the looks
				before, leases := server.CommandCalls(t), 0
				for found := 0; found == 0; leases++ {
					r := x.leaseResult(1)
					if found = len(r.Deliveries); found == 0 && !r.More {
						t.Fatal("it was not found")
					}
					x.ack(r.Deliveries...)
				}
				reads := server.CommandCalls(t).Since(before)["xrange"]
				t.Logf("large before %d: %d leases, %d times XRANGE", large, leases, reads)
				if most := 3 * batches * small / 1000; leases > most || reads > int64(20*most) {
					t.Errorf("%d leases and %d times XRANGE for %d messages", leases, reads, batches*small)
				}
				if stats := x.stats(); stats.Filtered != batches*small+1 || stats.Lost != 0 || stats.Acked != 1 || stats.Bytes != 0 {
					t.Errorf("in the end %+v", stats)
				}
			})
		}
	}
}
