package redisstream

import (
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// What an older Postrider kept of a failed attempt is read, and whatever is not such a line is found out.
func TestLinesOfAttempts(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	for lines, want := range map[string][]subscriptions.Attempt{
		"":                             nil,
		"1700000000123 503: no way, 1": {{Time: at, Failure: subscriptions.Failure{Reason: "503: no way, 1"}}},
		"1700000000123 \t3:503:12\tno\tlater\n1700000000123 old": {
			{Number: 3, Time: at, Failure: subscriptions.Failure{Reason: "no", Status: 503, Answer: "later", Took: 12 * time.Millisecond}},
			{Time: at, Failure: subscriptions.Failure{Reason: "old"}},
		},
	} {
		f := &fields{rest: []any{lines}}
		got := f.attempts()
		if len(got) != len(want) || f.err != nil {
			t.Fatalf("%q is read as %v, %v", lines, got, f.err)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q is read as %v, want %v", lines, got[i], want[i])
			}
		}
	}
	for _, lines := range []string{"x", "1", "1700000000123 \t3:503\tno\tlater", "1700000000123 \t3:503:1\tno", "1700000000123 \t3:503:1\tno\tlater\tmore"} {
		f := &fields{rest: []any{lines}}
		if got := f.attempts(); f.err == nil {
			t.Errorf("%q is read as %v", lines, got)
		}
	}
}

// What is written can be read, whatever the texts.
func TestEncodeFailure(t *testing.T) {
	t.Parallel()
	text := encodeFailure(subscriptions.Failure{Reason: "a\tb\nc", Answer: strings.Repeat("é\r\n", 100), Status: 599, Took: 1500 * time.Microsecond})
	a, ok := decodeAttempt("7 \t2:" + text)
	if !ok || a.Reason != "a b c" || a.Status != 599 || a.Number != 2 || a.Took != 2*time.Millisecond || len(a.Answer) > subscriptions.MaxAnswer {
		t.Errorf("%q is read as %+v, %v", text, a, ok)
	}
}
