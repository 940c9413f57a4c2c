//go:build load

package redisstream_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// TestLoadHotKey: a key that is blocked with a million of its messages ahead does not stop another one, and what is kept of
// it is bounded.
func TestLoadHotKey(t *testing.T) {
	server := redistest.Start(t)
	x := attach(t, open(t, server.URL(), redisstream.Options{}), "topic")
	x.rules.Ordered, x.rules.Outstanding = true, subscriptions.DefaultOutstanding
	hot := benchmarkMessages(1000)
	for i := range hot {
		hot[i].Data, hot[i].OrderingKey = []byte("hot"), "a"
	}
	publish := func(msgs []subscriptions.Message) {
		_, err := x.store.Publish(t.Context(), x.topic, msgs)
		x.ok(err)
	}
	start := time.Now()
	for range 1000 {
		publish(hot)
	}
	publishing := time.Since(start)
	blocked := x.lease(1) // a run of one, so that all else is behind it
	cold := []subscriptions.Message{{Data: []byte("cold"), OrderingKey: "b"}}
	publish(cold)
	first := x.untilCold()
	publish(cold)
	later := x.untilCold()
	t.Logf("a later message of another key came after %v, a new one after %v; publishing the million took %v", first, later, publishing)
	if late(first, 10*time.Second, publishing) || later > time.Second {
		t.Errorf("too late: at most 10s and 1s")
	}
	stats, err := x.store.Stats(t.Context(), x.ref)
	x.ok(err)
	if stats.Outstanding > subscriptions.DefaultOutstanding || stats.Parked > subscriptions.DefaultOutstanding/2 {
		t.Errorf("more is kept than the bound: %+v", stats)
	}
	x.ack(blocked...)
	count := 0
	start = time.Now()
	for count < 100_000 {
		ds := x.lease(100)
		for i, d := range ds {
			if d.Message.OrderingKey == "a" && i > 0 && d.Message.ID.Compare(ds[i-1].Message.ID) <= 0 {
				t.Fatalf("%s came after %s", d.Message.ID, ds[i-1].Message.ID)
			}
		}
		count += len(ds)
		x.ack(ds...)
	}
	t.Logf("one key: %.0f messages a second", float64(count)/time.Since(start).Seconds())
}

// untilCold leases until a message of the other key comes.
func (x *sub) untilCold() time.Duration {
	start := time.Now()
	for {
		for _, d := range x.lease(100) {
			if d.Message.OrderingKey == "b" {
				x.ack(d)
				return time.Since(start)
			}
		}
	}
}

// TestLoadManyKeys measures what order costs Redis where no two messages that are outstanding have the same key of 100,000.
func TestLoadManyKeys(t *testing.T) {
	const rounds = 500
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	plain, ordered := attach(t, s, "plain"), attach(t, s, "ordered")
	ordered.rules.Ordered = true
	key := 0
	round := func(x *sub) {
		msgs := benchmarkMessages(100)
		for i := range msgs {
			key = (key + 1) % 100_000
			msgs[i].OrderingKey = fmt.Sprint("key-", key)
		}
		_, err := x.store.Publish(t.Context(), x.topic, msgs)
		x.ok(err)
		x.ack(x.lease(100)...)
	}
	measure := func(x *sub) time.Duration {
		round(x)
		since := cpu(t, server)
		for range rounds {
			round(x)
		}
		return (cpu(t, server) - since) / rounds / 100
	}
	var ratios []float64
	for range 5 {
		without := measure(plain)
		with := measure(ordered)
		ratios = append(ratios, float64(with)/float64(without))
		t.Logf("a message, published, leased and acked, costs Redis %v without order and %v with it", without, with)
	}
	slices.Sort(ratios)
	t.Logf("order costs %.2f times as much, in the middle of %d turns", ratios[2], len(ratios))
	if ratios[2] > 1.6 {
		t.Errorf("order costs too much: at most 1.3 times on a machine of one's own")
	}
}
