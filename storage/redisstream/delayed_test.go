package redisstream_test

import (
	"maps"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/storage/storagetest"
	"postrider/subscriptions"
)

// TestDelaysCostNothing: what is delayed adds no command to a publish, a lease and an ack of other messages.
func TestDelaysCostNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	without, with := attach(t, s, "without"), attach(t, s, "with")
	m := messages(1)[0]
	m.Timing.Delay = time.Hour
	_, err := s.Publish(t.Context(), with.topic, []subscriptions.Message{m})
	with.ok(err)
	for _, n := range []int{1, 100} {
		if few, many := callsOfRound(server, without, n), callsOfRound(server, with, n); !maps.Equal(few, many) {
			t.Errorf("%d messages a call: %v without anything delayed, %v with", n, few, many)
		}
	}
}

// TestStoredTimes: the format of what is delayed, and of an entry of the log with times. It must be read for ever.
func TestStoredTimes(t *testing.T) {
	t.Parallel()
	clock := storagetest.NewClock()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{Now: clock.Now, Salt: storagetest.Salt})
	x := attach(t, s, "topic")
	m := subscriptions.Message{Data: []byte("x"), Timing: subscriptions.Timing{Delay: time.Second, TTL: time.Minute}}
	_, err := s.Publish(t.Context(), x.topic, []subscriptions.Message{m})
	x.ok(err)
	const (
		member = "1772366400000-5000000000014217"
		head   = "2" + "0000000000000000" + "00000001" + "1772366461000"
		data   = "\x01\x00\x00\x01x"
	)
	key := func(name string) string { return s.Prefix() + "{topic:0}:" + name }
	client := s.Client()
	if due := client.ZScore(t.Context(), key("delayed"), member).Val(); due != 1772366401000 {
		t.Errorf("it is due at %.0f", due)
	}
	if got := client.HGet(t.Context(), key("delays"), member).Val(); got != head+data {
		t.Errorf("it is stored as %q", got)
	}
	clock.Advance(time.Second)
	_, err = s.AppendDue(t.Context(), "topic")
	x.ok(err)
	entries := client.XRange(t.Context(), key("log"), "-", "+").Val()
	if len(entries) != 1 || entries[0].ID != "1772366401000-14217" || entries[0].Values["h"] != head+"1" ||
		entries[0].Values["d"] != "\x02\x1e"+member+data {
		t.Errorf("the log has %+v", entries)
	}
	if n := client.Exists(t.Context(), key("delayed"), key("delays")).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}
