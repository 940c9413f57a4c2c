//go:build load

package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// TestLoadSnapshot: a snapshot of 100,000 outstanding messages and 1,000,000 that wait is taken within 1 s and restored within
// 2 s, and brings back just these. So does a seek that acks half of what is outstanding.
func TestLoadSnapshot(t *testing.T) {
	const outstanding, waiting, settled = subscriptions.DefaultOutstanding, 1_000_000, 50_000
	server := redistest.Start(t)
	x := attach(t, open(t, server.URL(), redisstream.Options{}), "topic")
	x.rules.Outstanding = outstanding
	start := time.Now().Add(-time.Minute)
	msgs := benchmarkMessages(1000)
	for range (outstanding + settled + waiting) / len(msgs) {
		_, err := x.store.Publish(t.Context(), x.topic, msgs)
		x.ok(err)
	}
	want := map[subscriptions.MessageID]bool{}
	var acked []subscriptions.Delivery
	for len(want) < outstanding { // one of three is acked, so that what is outstanding has gaps
		for i, d := range x.lease(200) {
			if i%3 == 0 && len(acked) < settled {
				acked = append(acked, d)
				x.ack(d)
			} else {
				want[d.Message.ID] = true
			}
		}
	}
	before := x.stats()
	if before.Outstanding != outstanding || before.Undelivered != waiting {
		t.Fatalf("it begins with %+v", before)
	}
	timed := func(what string, most time.Duration, do func() error) {
		t.Helper()
		began := time.Now()
		x.ok(do())
		took := time.Since(began)
		t.Logf("%s took %v", what, took)
		if took > most {
			t.Errorf("too long: at most %v", most)
		}
	}
	snap := subscriptions.SnapshotRef{Topic: x.ref.Topic, Snapshot: "snap", Revision: 1}
	timed("taking the snapshot", time.Second, func() error {
		_, err := x.store.TakeSnapshot(t.Context(), x.ref, snap, subscriptions.SnapshotName{Project: "p", ID: "snap"})
		return err
	})
	seek := func(r subscriptions.SeekRequest) error {
		r.Ref = x.ref
		_, err := x.store.Seek(t.Context(), r)
		return err
	}
	timed("acking all by a seek", time.Second, func() error { return seek(subscriptions.SeekRequest{Time: time.Now().Add(time.Hour)}) })
	timed("asking what restoring changes", 2*time.Second, func() error {
		return seek(subscriptions.SeekRequest{Snapshot: snap.Snapshot, ValidateOnly: true})
	})
	timed("restoring it", 2*time.Second, func() error { return seek(subscriptions.SeekRequest{Snapshot: snap.Snapshot}) })
	after := x.stats()
	if after.Undelivered != outstanding+waiting || after.Bytes != before.Bytes || after.Outstanding != 0 {
		t.Errorf("restored: %+v, taken of %+v", after, before)
	}
	began := time.Now()
	for n := 0; n < outstanding; {
		for _, d := range x.lease(200) {
			if n++; n <= outstanding && !want[d.Message.ID] {
				t.Fatalf("%s came again", d.Message.ID)
			}
			delete(want, d.Message.ID)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d messages did not come again", len(want))
	}
	t.Logf("leasing the restored messages: %.0f a second", outstanding/time.Since(began).Seconds())
	timed("a seek that keeps what is outstanding", time.Second, func() error { return seek(subscriptions.SeekRequest{Time: start}) })
}
