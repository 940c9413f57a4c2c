package storagetest

import (
	"fmt"
	"strings"
	"time"

	"postrider/subscriptions"
)

var publishing = []check{
	{"ids count up and carry the time", publishIDs},
	{"ids rise when the clock goes back", publishClockBack},
	{"a batch has one salt", publishSalt},
	{"no messages", publishNothing},
	{"1,000 messages", publishThousand},
	{"10 MB", publishLarge},
	{"what was sent comes back", publishContent},
	{"dropped when nothing is attached", publishDropped},
	{"goes to every subscription", publishFanOut},
	{"only to what was attached before", publishAttachedLater},
	{"the caller may change what it sent", publishIsolated},
	{"readers do not share what they get", readersIsolated},
	{"refused by revision and by closed topics", publishRefused},
}

func publishIDs(r *rig) {
	t, _ := r.one()
	start := r.Clock.Now().UnixMilli()
	first := t.publish("a", "b")
	r.Clock.Advance(1500 * time.Microsecond) // the clock stands at whole milliseconds before
	second := t.publish("c")
	same(r, "ids", append(first, second...), []subscriptions.MessageID{
		subscriptions.NewMessageID(start, 1, Salt()),
		subscriptions.NewMessageID(start, 2, Salt()),
		subscriptions.NewMessageID(start+1, 3, Salt()),
	})
}

func publishClockBack(r *rig) {
	t, s := r.one()
	start := r.Clock.Now().UnixMilli()
	t.publish("a")
	r.Clock.Advance(-time.Hour)
	id := t.publish("b")[0]
	same(r, "id", id, subscriptions.NewMessageID(start, 2, Salt()))
	s.leases(10, "a", "b")
	same(r, "age", s.stats().OldestAge, 0)
}

func publishSalt(r *rig) {
	t, _ := r.one()
	for _, id := range t.publish("a", "b", "c") {
		same(r, "salt", id.Seq%10_000, Salt())
	}
}

func publishNothing(r *rig) {
	t, s := r.one()
	same(r, "ids", len(t.publishAll()), 0)
	same(r, "undelivered", s.stats().Undelivered, 0)
	same(r, "next number", t.publish("a")[0].N(), 1)
}

func publishThousand(r *rig) {
	t, s := r.one()
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint(i))
	}
	ids := t.publish(want...)
	for i, id := range ids {
		same(r, "number", id.N(), int64(i+1))
	}
	same(r, "undelivered", s.stats().Undelivered, 1000)
	var got []string
	for len(got) < 1000 {
		result := s.leaseWith(s.request(1000))
		got = append(got, data(result.Deliveries)...)
		same(r, "more", result.More, len(got) < 1000)
	}
	same(r, "leased", got, want)
}

func publishLarge(r *rig) {
	t, s := r.one()
	big := strings.Repeat("0123456789", 1_000_000)
	id := t.publish(big)[0]
	d := s.leaseOne()
	if string(d.Message.Data) != big || d.Message.ID != id {
		r.Fatal("a message of 10 MB came back changed")
	}
	same(r, "bytes", s.stats().Bytes, 10_000_000)
	s.ack(d)
	same(r, "bytes", s.stats().Bytes, 0)
}

func publishContent(r *rig) {
	t, s := r.one()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	msgs := []subscriptions.Message{
		{Data: every},
		{Data: []byte("\xff\xfe\x00\r\n$5\r\n{}")},
		{Attributes: map[string]string{"only": "attributes"}},
		{Data: []byte("k"), OrderingKey: "ключ\x00 {a:b} 鍵"},
		{Data: []byte("u"), Attributes: map[string]string{
			"": "empty key", "empty": "", "é": "e\u0301", "\U0001F4EE": "\u202e\u0000\ufeff", "a\nb": "\"\\'", "1": "2", "-0": "1e400",
		}},
	}
	ids := t.publishAll(msgs...)
	ds := s.lease(10)
	same(r, "count", len(ds), len(msgs))
	for i, d := range ds {
		msgs[i].ID = ids[i]
		sameMessage(r, d.Message, msgs[i])
	}
}

// sameMessage compares two messages; absent and empty are the same.
func sameMessage(r *rig, got, want subscriptions.Message) {
	r.Helper()
	same(r, "id", got.ID, want.ID)
	same(r, "data", string(got.Data), string(want.Data))
	same(r, "ordering key", got.OrderingKey, want.OrderingKey)
	same(r, "attributes", len(got.Attributes), len(want.Attributes))
	for k, v := range want.Attributes {
		same(r, fmt.Sprintf("attribute %q", k), got.Attributes[k], v)
	}
}

func publishDropped(r *rig) {
	t := r.topic()
	same(r, "number", t.publish("a", "b")[1].N(), 2)
	same(r, "log", t.length(), 0)
	s := t.attach()
	s.leases(10)
	same(r, "number", t.publish("c")[0].N(), 3)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 1})
	s.leases(10, "c")
}

func publishFanOut(r *rig) {
	t, s := r.one()
	other := t.attach()
	t.publish("a", "b")
	s.ack(s.leases(10, "a", "b")...)
	other.leases(1, "a")
	other.leases(1, "b")
}

func publishAttachedLater(r *rig) {
	t, s := r.one()
	t.publish("a")
	later := t.attach()
	same(r, "stats", later.stats(), subscriptions.Stats{})
	later.leases(10)
	t.publish("b")
	later.leases(10, "b")
	s.leases(10, "a", "b")
}

func publishIsolated(r *rig) {
	t, s := r.one()
	m := subscriptions.Message{Data: []byte("data"), Attributes: map[string]string{"k": "v"}}
	t.publishAll(m)
	m.Data[0] = 'X'
	m.Attributes["k"] = "changed"
	m.Attributes["new"] = ""
	d := s.leaseOne()
	same(r, "data", string(d.Message.Data), "data")
	same(r, "attributes", d.Message.Attributes, map[string]string{"k": "v"})
}

func readersIsolated(r *rig) {
	t, s := r.one()
	other := t.attach()
	t.publishAll(subscriptions.Message{Data: []byte("data"), Attributes: map[string]string{"k": "v"}})
	d := s.leaseOne()
	d.Message.Data[0] = 'X'
	d.Message.Attributes["k"] = "changed"
	again := other.leaseOne()
	same(r, "data", string(again.Message.Data), "data")
	same(r, "attributes", again.Message.Attributes, map[string]string{"k": "v"})
	s.release(d)
	same(r, "data", string(s.leaseOne().Message.Data), "data")
}

func publishRefused(r *rig) {
	t, s := r.one()
	t.ref.Revision = 5
	t.publish("a") // adopts it
	msgs := []subscriptions.Message{{Data: []byte("b")}}
	stale := t.ref
	stale.Revision = 4
	_, err := r.Store.Publish(r.Context(), stale, msgs)
	r.is(err, subscriptions.ErrStale)
	r.ok(r.Store.CloseTopic(r.Context(), t.ref.UID))
	_, err = r.Store.Publish(r.Context(), t.ref, msgs)
	r.is(err, subscriptions.ErrGone)
	_, err = r.Store.Publish(r.Context(), subscriptions.TopicRef{UID: unique("t"), Revision: 1}, msgs)
	r.is(err, subscriptions.ErrGone)
	same(r, "undelivered", s.stats().Undelivered, 1)
}
