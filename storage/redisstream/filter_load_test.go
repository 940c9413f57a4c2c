//go:build load

package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// TestLoadOneInAMillion: a filter finds the only message of a million that it selects, and nobody else has to wait long for
// Redis meanwhile, whether all messages are small or one of them is large.
func TestLoadOneInAMillion(t *testing.T) {
	const bound = 10 * time.Second           // to find it
	for name, large := range map[string]int{ // bytes of one more message, which lies first
		"small messages":         0,
		"a large one among them": 10_000_000,
	} {
		t.Run(name, func(t *testing.T) {
			const backlog = 1_000_000
			server := redistest.Start(t)
			s := open(t, server.URL(), redisstream.Options{})
			x := attach(t, s, "topic")
			x.rules.Match = matching(t, `attributes.rare = "yes" AND NOT attributes:never`)
			publish := func(msgs ...subscriptions.Message) {
				_, err := s.Publish(t.Context(), x.topic, msgs)
				x.ok(err)
			}
			msgs := benchmarkMessages(batch)
			for i := range msgs {
				msgs[i].Attributes = map[string]string{"rare": "no", "kind": "order.created"}
			}
			if large > 0 {
				publish(subscriptions.Message{Data: make([]byte, large)})
			}
			filling := time.Now()
			for range backlog / batch {
				publish(msgs...)
			}
			publishing := time.Since(filling)
			rare := subscriptions.Message{Attributes: map[string]string{"rare": "yes"}}
			publish(rare)

			slow, calls, used := slowLog(t, s), server.CommandCalls(t), cpu(t, server)
			start, leases := time.Now(), 0
			var found []subscriptions.Delivery
			for len(found) == 0 {
				r := x.leaseResult(1)
				if leases++; len(r.Deliveries) == 0 && !r.More {
					t.Fatal("it was not found")
				}
				found = r.Deliveries
			}
			took := time.Since(start)
			used = cpu(t, server) - used
			calls = server.CommandCalls(t).Since(calls)
			longest, over := slow()
			scripts, reads := calls["evalsha"], calls["xrange"]
			each := used / time.Duration(scripts)
			t.Logf("found after %v and %d leases (%d scripts, XRANGE %d times); Redis worked %v for each script, %v by the clock at most; publishing took %v",
				round(took), leases, scripts, reads, each, longest, round(publishing))
			if late(took, bound, publishing) {
				t.Errorf("it took %v", took)
			}
			// The clock also runs while the machine does other things. Too much work would make every page late.
			if each > busyMost/2 || over > int(scripts/10) {
				t.Errorf("Redis worked %v for each script, and was busy for more than %v at a time %d times", each, busyMost, over)
			}
			x.ack(found...)
			if stats := x.stats(); stats.Acked != 1 || stats.Undelivered != 0 || stats.Bytes != 0 {
				t.Errorf("in the end: %+v", stats)
			}
			for more := true; more; {
				var err error
				more, err = s.Trim(t.Context(), "topic")
				x.ok(err)
			}
			if n := s.Client().XLen(t.Context(), s.LogKey("topic")).Val(); n != 0 {
				t.Errorf("the log holds %d entries", n)
			}
		})
	}
}

// busyMost is how long Redis may be busy with one command.
const busyMost = 5 * time.Millisecond

// slowLog begins to watch how long Redis is busy, and gives what tells the longest time since, and how often it was too long.
func slowLog(t *testing.T, s *redisstream.Store) func() (longest time.Duration, over int) {
	ctx, client := t.Context(), s.Client()
	for _, err := range []error{
		client.ConfigSet(ctx, "slowlog-log-slower-than", "500").Err(),
		client.ConfigSet(ctx, "slowlog-max-len", "100000").Err(),
		client.Do(ctx, "slowlog", "reset").Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() (longest time.Duration, over int) {
		entries, err := client.SlowLogGet(ctx, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			longest = max(longest, e.Duration)
			if e.Duration > busyMost {
				over++
			}
		}
		return longest, over
	}
}
