package redisstream

import (
	"encoding/json"
	"strings"
	"time"

	"postrider/subscriptions"
)

// findingRecord is how a finding is stored, as JSON behind the ms of its last point. Fields are never renamed, numbers are only
// added at the end of a point. What the owner says, and what is blocked, is JSON of the domain's own fields: it is replaced soon,
// and what another version names otherwise reads as zero.
type findingRecord struct {
	Points  [][]int64                  `json:"p"`
	Backlog []int64                    `json:"b,omitempty"`
	Breaker *breakerRecord             `json:"k,omitempty"`
	Push    *subscriptions.PushReport  `json:"r,omitempty"`
	Blocked *subscriptions.BlockedKeys `json:"o,omitempty"`
}

// breakerRecord is an open breaker. Durations and times are milliseconds.
type breakerRecord struct {
	Since    int64  `json:"since"`
	Probe    int64  `json:"probe"`
	Probes   int    `json:"probes"`
	Endpoint string `json:"endpoint"`
	OpenTime int64  `json:"openTime"`
	NextTime int64  `json:"nextTime"`
}

func encodeFinding(f subscriptions.Finding) string {
	r := findingRecord{Backlog: f.Backlog}
	for _, c := range f.Points {
		s := c.Stats
		r.Points = append(r.Points, []int64{
			c.At.UnixMilli(), c.Published, c.PublishedBytes, c.Log,
			s.Undelivered, s.Outstanding, s.Dead, s.Parked, s.Bytes, s.OldestAge.Milliseconds(),
			s.Acked, s.Nacked, s.Expired, s.Dropped, s.Lost, s.DeadLettered, s.Filtered, s.Late, c.Delayed,
		})
	}
	if b := f.Breaker; b.Open {
		r.Breaker = &breakerRecord{b.Since.Milliseconds(), b.Probe.Milliseconds(), b.Probes, b.Endpoint, b.OpenTime.UnixMilli(), b.ProbeTime.UnixMilli()}
	}
	if f.Push.Said() {
		r.Push = &f.Push
	}
	if f.Blocked.Keys > 0 {
		r.Blocked = &f.Blocked
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers, times and texts: cannot fail
	}
	return string(text)
}

// decodeFinding reads what share.lua stores; false when it is of no form that is known.
func decodeFinding(uid, stored string) (f subscriptions.Finding, ok bool) {
	_, text, _ := strings.Cut(stored, " ")
	var r findingRecord
	if json.Unmarshal([]byte(text), &r) != nil || len(r.Points) == 0 {
		return f, false
	}
	f = subscriptions.Finding{UID: uid, Backlog: r.Backlog}
	for _, p := range r.Points {
		numbers := fields{name: "finding"}
		for _, n := range p {
			numbers.rest = append(numbers.rest, n)
		}
		c := subscriptions.Counts{
			At: time.UnixMilli(numbers.int()).UTC(), Published: numbers.int(), PublishedBytes: numbers.int(), Log: numbers.int(),
			Stats: numbers.stats(),
		}
		if len(numbers.rest) > 0 {
			c.Delayed = numbers.int()
		}
		if numbers.err != nil {
			return f, false
		}
		f.Points = append(f.Points, c)
	}
	if b := r.Breaker; b != nil {
		f.Breaker = subscriptions.Breaker{
			Open: true, Since: millis(b.Since), Probe: millis(b.Probe), Probes: b.Probes, Endpoint: b.Endpoint,
			OpenTime: time.UnixMilli(b.OpenTime).UTC(), ProbeTime: time.UnixMilli(b.NextTime).UTC(),
		}
	}
	if r.Push != nil {
		f.Push = *r.Push
	}
	if r.Blocked != nil {
		f.Blocked = *r.Blocked
	}
	return f, true
}
