package subscriptions

import (
	"strings"
	"testing"
	"time"
)

func TestTiming(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ttl, at string
		want    Timing
		refused string // a part of the message; empty: accepted
	}{
		{"90", "", Timing{TTL: 90 * time.Second}, ""},
		{"90s", "", Timing{TTL: 90 * time.Second}, ""},
		{"1.5s", "", Timing{TTL: 1500 * time.Millisecond}, ""},
		{"0.000000001", "", Timing{TTL: 1}, ""},
		{"2678400s", "", Timing{TTL: MaxTTL}, ""},
		{"2678400.000000001s", "", Timing{}, "at most 2678400"},
		{"99999999999999999999", "", Timing{}, "at most 2678400"},
		{"0", "", Timing{}, "more than 0"},
		{"0.0s", "", Timing{}, "more than 0"},
		{"-1", "", Timing{}, "such as 90, 90s or 1.5s"},
		{"+1", "", Timing{}, "such as 90"},
		{"1m", "", Timing{}, "such as 90"},
		{"1.", "", Timing{}, "such as 90"},
		{".5", "", Timing{}, "such as 90"},
		{"1.0000000001", "", Timing{}, "such as 90"},
		{"1e3", "", Timing{}, "such as 90"},
		{"90 s", "", Timing{}, "such as 90"},
		{"2026-03-01T12:00:00Z", "", Timing{}, "such as 90"},
		{"", "90", Timing{Delay: 90 * time.Second}, ""},
		{"", "90.25s", Timing{Delay: 90_250 * time.Millisecond}, ""},
		{"", "0", Timing{}, ""},
		{"", "2678400", Timing{Delay: MaxDelay}, ""},
		{"", "2678401", Timing{}, "too far ahead"},
		{"", "2026-03-01T13:00:00Z", Timing{DeliverAt: now.Add(time.Hour)}, ""},
		{"", "2026-03-01T15:00:00.5+02:00", Timing{DeliverAt: now.Add(time.Hour + 500*time.Millisecond)}, ""},
		{"", "1970-01-01T00:00:00Z", Timing{DeliverAt: time.Unix(0, 0)}, ""},
		{"", "2026-04-01T12:00:00Z", Timing{DeliverAt: now.Add(MaxDelay)}, ""},
		{"", "2026-04-01T12:00:01Z", Timing{}, "too far ahead"},
		{"", "2026-03-01 13:00:00Z", Timing{}, "RFC 3339"},
		{"", "tomorrow", Timing{}, "RFC 3339"},
		{"", "-5", Timing{}, "RFC 3339"},
		{"5", "90", Timing{TTL: 5 * time.Second, Delay: 90 * time.Second}, ""},
	} {
		m := Message{Attributes: map[string]string{}}
		if c.ttl != "" {
			m.Attributes[AttributeTTL] = c.ttl
		}
		if c.at != "" {
			m.Attributes[AttributeDeliverAt] = c.at
		}
		given := []Message{{Data: []byte("x")}, m}
		got, err := timed(given, now)
		check(t, c.ttl+" "+c.at, err, c.refused)
		if c.refused != "" {
			if err != nil && !strings.Contains(err.Error(), "messages[1].attributes") {
				t.Errorf("%q, %q: %v does not say where", c.ttl, c.at, err)
			}
			continue
		}
		if w := got[1].Timing; w.TTL != c.want.TTL || w.Delay != c.want.Delay || !w.DeliverAt.Equal(c.want.DeliverAt) {
			t.Errorf("%q, %q: got %+v, want %+v", c.ttl, c.at, w, c.want)
		}
		if given[1].Timing != (Timing{}) {
			t.Errorf("%q, %q: what the caller has was changed", c.ttl, c.at)
		}
	}
}

func TestDelayNeedsNoKey(t *testing.T) {
	m := Message{OrderingKey: "k", Attributes: map[string]string{AttributeDeliverAt: "5"}}
	_, err := timed([]Message{m}, time.Now())
	check(t, "a delay", err, "orderingKey cannot be delayed")
	m.Attributes = map[string]string{AttributeTTL: "5"}
	if _, err := timed([]Message{m}, time.Now()); err != nil {
		t.Errorf("a time to live: %v", err)
	}
}

func TestTimedAttributesAreKnown(t *testing.T) {
	m := Message{Attributes: map[string]string{AttributeTTL: "5", AttributeDeliverAt: "5"}}
	check(t, "both", validatePublish([]Message{m}), "")
	m.Attributes["postrider-deliver"] = "5"
	check(t, "a mistake", validatePublish([]Message{m}), "postrider-deliver")
}
