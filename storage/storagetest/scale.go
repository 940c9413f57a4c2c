package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"postrider/subscriptions"
)

var scaling = []check{
	{"a thousand receipts", manyReceipts},
	{"a thousand nacks are spread as one step", manyNacks},
	{"a thousand dead messages", manyDead},
	{"large messages come in several answers", manyBytes},
	{"concurrent publishes are steps", concurrentPublishes},
	{"concurrent leases share no message", concurrentLeases},
	{"the clock goes back", clockBack},
}

// all leases everything.
func (s *sub) all() []subscriptions.Delivery {
	s.Helper()
	var ds []subscriptions.Delivery
	for {
		got := s.lease(1000)
		if len(got) == 0 {
			return ds
		}
		ds = append(ds, got...)
	}
}

func manyReceipts(r *rig) {
	t, s := r.one()
	t.several(1000)
	s.rules.Outstanding = 2000
	ds := s.all()
	same(r, "leased", len(ds), 1000)
	s.extend(time.Hour, ds...)
	r.Clock.Advance(time.Minute)
	s.leases(1)
	s.release(ds...)
	again := s.all()
	same(r, "leased again", len(again), 1000)
	same(r, "attempt", again[999].Attempt, 1)
	s.ack(append(ds, again...)...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 1000})
	t.holds(0)
}

func manyNacks(r *rig) {
	t, s := r.one()
	t.several(1000)
	span := subscriptions.Span{Low: 10 * time.Second, High: 15 * time.Second}
	s.rules.Retry = []subscriptions.Span{span}
	n := subscriptions.NackRequest{Ref: s.ref, Rules: s.rules, Jitter: 0.3}
	delays := map[subscriptions.MessageID]time.Duration{}
	for i, d := range s.all() {
		n.Nacks = append(n.Nacks, subscriptions.Nack{Receipt: d.Receipt()})
		delays[d.Message.ID] = span.At(subscriptions.Jitter(n.Jitter, i))
	}
	_, err := r.Store.Nack(r.Context(), n)
	r.ok(err)
	// Every so often, what is due by then has come, and nothing else.
	waited := span.Low
	r.Clock.Advance(span.Low - time.Millisecond)
	same(r, "too early", len(s.lease(1000)), 0)
	r.Clock.Advance(time.Millisecond)
	for ; len(delays) > 0; waited += 500 * time.Millisecond {
		for _, d := range s.all() {
			if delays[d.Message.ID] > waited {
				r.Fatalf("%s came after %s, want %s", d.Message.Data, waited, delays[d.Message.ID])
			}
			delete(delays, d.Message.ID)
			s.extend(day, d)
		}
		for id, delay := range delays {
			if delay <= waited {
				r.Fatalf("%s did not come after %s, as it should", id, delay)
			}
		}
		r.Clock.Advance(500 * time.Millisecond)
	}
}

func manyDead(r *rig) {
	t, s := r.one()
	letters, reader := r.one()
	t.several(1000)
	s.rules.MaxAttempts = 1
	s.nack(s.all()...)
	same(r, "dead", s.stats().Dead, 1000)
	var dead []subscriptions.Delivery
	for more := true; more; {
		result := s.sweep(1000)
		dead = append(dead, result.Dead...)
		more = result.More
	}
	var msgs []subscriptions.Message
	var ids []subscriptions.MessageID
	for _, d := range dead {
		msgs = append(msgs, d.Message)
		ids = append(ids, d.Message.ID)
	}
	letters.append(s, msgs...)
	letters.append(s, msgs...)
	s.settle(dead...)
	letters.forget(s, ids...)
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 1000, DeadLettered: 1000})
	t.holds(0)
	got := data(reader.all())
	same(r, "letters", len(got), 1000)
	same(r, "first and last", []string{got[0], got[999]}, []string{"0", "999"})
}

func manyBytes(r *rig) {
	t, s := r.one()
	big := strings.Repeat("x", 300_000)
	for range 10 {
		t.publish(big, "small", big)
	}
	req := s.request(100)
	req.MaxBytes = 100_000_000
	got := 0
	for more := true; more; {
		result := s.leaseWith(req)
		if len(result.Deliveries) == 0 {
			r.Fatalf("nothing came though there was more, after %d messages", got)
		}
		got += len(result.Deliveries)
		more = result.More
	}
	same(r, "leased", got, 30)
	same(r, "bytes", s.stats().Bytes, 20*300_000+10*5)
}

func concurrentPublishes(r *rig) {
	const publishers, batches, size = 8, 10, 5
	t, s := r.one()
	got := make([][]subscriptions.MessageID, publishers*batches)
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for b := range batches {
				msgs := make([]subscriptions.Message, size)
				for i := range msgs {
					msgs[i].Data = fmt.Appendf(nil, "%d.%d.%d", p, b, i)
				}
				ids, err := r.Store.Publish(r.Context(), t.ref, msgs)
				if err != nil {
					r.Error(err)
				}
				got[p*batches+b] = ids
			}
		})
	}
	wg.Wait()
	var all []int64
	for _, ids := range got {
		for i, id := range ids {
			same(r, "number within the batch", id.N(), ids[0].N()+int64(i))
			all = append(all, id.N())
		}
	}
	slices.Sort(all)
	for i, n := range all {
		same(r, "number", n, int64(i+1))
	}
	same(r, "undelivered", s.stats().Undelivered, publishers*batches*size)
}

func concurrentLeases(r *rig) {
	t, s := r.one()
	t.several(300)
	var mu sync.Mutex
	seen := map[subscriptions.MessageID]int{}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for {
				result, err := r.Store.Lease(r.Context(), s.request(7))
				if err != nil {
					r.Error(err)
				}
				if len(result.Deliveries) == 0 {
					return
				}
				mu.Lock()
				for _, d := range result.Deliveries {
					seen[d.Message.ID]++
				}
				mu.Unlock()
				if err := r.Store.Acknowledge(r.Context(), s.ref, receipts(result.Deliveries)); err != nil {
					r.Error(err)
				}
			}
		})
	}
	wg.Wait()
	same(r, "messages", len(seen), 300)
	for id, times := range seen {
		if times != 1 {
			r.Errorf("%s came %d times", id, times)
		}
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 300})
}

// clockBack is a failover to a server whose clock lags: times since then are 0, never negative.
func clockBack(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	t.publish("a", "b")
	s.leases(1, "a")
	r.Clock.Advance(-time.Minute)
	result := s.sweep(10)
	same(r, "unused", result.Unused, 0)
	same(r, "next due", result.NextDue, deadline+time.Minute)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Outstanding: 1, Bytes: 2})
	s.leases(10, "b")
	r.Clock.Advance(deadline)
	s.leases(10, "b")
	r.Clock.Advance(time.Minute)
	s.leases(10, "a", "b")
}
