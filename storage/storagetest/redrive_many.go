package storagetest

import (
	"fmt"
	"slices"
	"time"

	"postrider/subscriptions"
)

// What happens to more redriven messages than one step may handle.
var redrivingMany = []check{
	{"a seek that acks some", manySeekForward},
	{"a seek that acks all", manySeekPast},
	{"a seek to before those that the log retains", manySeekBack},
	{"a snapshot", manySnapshot},
	{"a snapshot of some that are outstanding", manySnapshotOutstanding},
	{"large ones", manyLarge},
	{"what is too old", manyOld},
}

// many is more than two steps handle.
const many = 450

// ackMany publishes messages of some size, which are all acked.
func (t *topic) ackMany(s *sub, n, size int) (acked []subscriptions.Message) {
	t.Helper()
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%0*d", size, i)
	}
	t.publish(texts...)
	for len(acked) < n {
		ds := s.lease(100)
		for _, d := range ds {
			acked = append(acked, d.Message)
		}
		s.ack(ds...)
	}
	t.trim()
	return acked
}

// redriveMany puts messages back, and gives what they hold.
func (s *sub) redriveMany(msgs ...subscriptions.Message) (texts []string) {
	s.Helper()
	for chunk := range slices.Chunk(msgs, 100) {
		s.redriven(lettersOf(chunk...)...)
		for _, m := range chunk {
			texts = append(texts, string(m.Data))
		}
	}
	return texts
}

// comes leases and acks all there is, and checks that it is just this, in order of the log and delivered for the first time.
func (s *sub) comes(want ...string) {
	s.Helper()
	var came []subscriptions.Delivery
	for more := true; more; {
		result := s.leaseWith(s.request(100))
		s.ack(result.Deliveries...)
		came = append(came, result.Deliveries...)
		more = result.More || len(result.Deliveries) > 0
	}
	slices.SortFunc(came, func(a, b subscriptions.Delivery) int { return a.Message.ID.Compare(b.Message.ID) })
	same(s.rig, "how many came", len(came), len(want))
	for i, d := range came {
		same(s.rig, "came", string(d.Message.Data), want[i])
		same(s.rig, "attempt", d.Attempt, 1)
	}
	stats := s.stats()
	same(s.rig, "left", stats.Undelivered+stats.Outstanding+stats.Bytes, 0)
}

// twice redrives many messages, and many more that were published at another time, which it gives.
func (t *topic) twice(s *sub) (first, second []string, between time.Time) {
	t.Helper()
	t.Clock.Advance(time.Second)
	old := t.ackMany(s, many, 10)
	t.Clock.Advance(time.Minute)
	between = t.Clock.Now()
	young := t.ackMany(s, many, 20)
	return s.redriveMany(old...), s.redriveMany(young...), between
}

func manySeekForward(r *rig) {
	t, s := r.one()
	first, second, between := t.twice(s)
	s.lease(77)
	acked := s.stats().Acked
	same(r, "would seek", s.wouldSeek(between), subscriptions.SeekResult{Acked: many})
	r.Clock.Advance(time.Minute)
	s.seek(between)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: many, Bytes: 20 * many, OldestAge: time.Minute, Acked: acked})
	s.comes(second...)
	same(r, "first", s.redriveMany(t.ackMany(s, many, 10)...), first)
	s.comes(first...)
}

func manySeekPast(r *rig) {
	t, s := r.one()
	_, _, between := t.twice(s)
	s.seek(between) // the source has many, and some are outstanding
	s.lease(100)
	same(r, "would seek", s.wouldSeek(r.Clock.Now().Add(time.Hour)), subscriptions.SeekResult{Acked: many})
	s.seek(r.Clock.Now().Add(time.Hour))
	t.publish("z")
	s.comes("z")
}

// manySeekBack seeks back into what the log has: it comes again from there, and nothing is left of its having been redriven.
func manySeekBack(r *rig) {
	t, s := r.retained()
	first, second, between := t.twice(s)
	r.Clock.Advance(time.Minute)
	same(r, "age", s.stats().OldestAge, time.Minute)
	s.seek(between)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: many, Bytes: 20 * many, OldestAge: time.Minute, Acked: 2 * many})
	d := s.lease(1)[0]
	same(r, "number", d.Number, 1)
	s.ack(d)
	s.comes(second[1:]...)
	s.seek(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	s.comes(slices.Concat(first, second)...)
}

func manySnapshot(r *rig) {
	t, s := r.one()
	texts := s.redriveMany(t.ackMany(s, many, 10)...)
	r.Clock.Advance(time.Minute)
	n := s.snapshot()
	s.comes(texts...)
	t.publish("z")
	same(r, "would restore", s.wouldRestore(n), subscriptions.SeekResult{Unacked: many})
	s.restore(n)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: many + 1, Bytes: 10*many + 1, OldestAge: time.Minute, Acked: 2 * many})
	s.comes(append(texts, "z")...)
	s.restore(n)
	r.Clock.Advance(time.Minute)
	s.restore(n) // over what it brought itself
	n.drop()
	same(r, "age", s.stats().OldestAge, 2*time.Minute)
	s.comes(append(texts, "z")...)
	t.trim()
	t.holds(0)
}

func manySnapshotOutstanding(r *rig) {
	t, s := r.one()
	texts := s.redriveMany(t.ackMany(s, many, 10)...)
	ds := s.lease(100)
	s.ack(ds[:50]...)
	n := s.snapshot()
	s.ack(ds[50:]...)
	texts = texts[100:]
	s.comes(texts...)
	s.redriven(lettersOf(ds[0].Message)...) // is not in the snapshot, and goes
	s.restore(n)
	s.comes(append(data(ds[50:]), texts...)...)
}

func manyLarge(r *rig) {
	t, s := r.one()
	r.Clock.Advance(time.Second)
	old := t.ackMany(s, 5, 300_000)
	r.Clock.Advance(time.Second)
	between := r.Clock.Now()
	young := t.ackMany(s, 5, 300_001)
	first, second := s.redriveMany(old...), s.redriveMany(young...)
	n := s.snapshot()
	s.seek(between)
	same(r, "bytes", s.stats().Bytes, int64(5*300_001))
	s.comes(second...)
	s.restore(n)
	same(r, "bytes", s.stats().Bytes, int64(5*300_000+5*300_001))
	s.comes(append(first, second...)...)
}

// manyOld lets the retention pass over the source, while some of what was redriven is outstanding.
func manyOld(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	start := r.Clock.Now()
	r.Clock.Advance(time.Second)
	acked := t.ackMany(s, many, 10)
	t.publish("old")
	r.Clock.Advance(30 * time.Minute)
	texts := s.redriveMany(acked...)
	s.seek(start)
	same(r, "leased", data(s.lease(100)), texts[:100])
	r.Clock.Advance(31 * time.Minute)
	t.publish("z")
	for s.sweep(10).More {
	}
	stats := s.stats()
	same(r, "stats", fmt.Sprint(stats.Undelivered, stats.Outstanding, stats.Bytes, stats.Dropped), fmt.Sprint(1, 100, 1001, many+1-100))
	s.seek(start)
	s.comes(append(texts[:100:100], "z")...)
}
