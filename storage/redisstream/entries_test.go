package redisstream

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"postrider/subscriptions"
)

// What is written by hand is what fmt writes.
func TestPaddedNumbers(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 300), rapid.Just(uint64(math.MaxUint64)))
	rapid.Check(t, func(t *rapid.T) {
		n, digits := number.Draw(t, "n"), rapid.IntRange(1, 16).Draw(t, "digits")
		if got, want := string(appendPadded([]byte("x"), n, 10, digits)), fmt.Sprintf("x%0*d", digits, n); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if got, want := string(appendPadded(nil, n, 16, digits)), fmt.Sprintf("%0*x", digits, n); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		id := subscriptions.MessageID{Milli: int64(n >> 1), Seq: int64(number.Draw(t, "seq") >> 1)}
		if got, want := member(id, 0), fmt.Sprintf("%013d-%016d", id.Milli, id.Seq); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if got, want := member(id, n|1), fmt.Sprintf("%013d-%016d:%016x", id.Milli, id.Seq, n|1); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	})
}

// Messages that are encoded together are those that are encoded one by one.
func TestEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		msgs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) subscriptions.Message {
			return subscriptions.Message{
				Data:        rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data"),
				Attributes:  rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "attributes"),
				OrderingKey: rapid.String().Draw(t, "key"),
			}
		}), 0, 5).Draw(t, "messages")
		got := entries(msgs)
		if len(got) != 2*len(msgs) {
			t.Fatalf("%d arguments for %d messages", len(got), len(msgs))
		}
		for i, m := range msgs {
			if h := *got[2*i].(*string); h != head(m) {
				t.Errorf("head %q, not %q", h, head(m))
			}
			if d := *got[2*i+1].(*string); d != string(encodeMessage(m)) {
				t.Errorf("message %q, not %q", d, encodeMessage(m))
			}
		}
	})
}
