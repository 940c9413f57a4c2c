package subscriptions

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func anyReceipt(t *rapid.T) Receipt {
	n := rapid.Int64Range(0, 1<<62)
	return Receipt{
		ID:     MessageID{n.Draw(t, "milli"), n.Draw(t, "seq")},
		Number: n.Draw(t, "number"), Epoch: n.Draw(t, "epoch"), Key: rapid.Uint64().Draw(t, "key"),
		Size: rapid.IntRange(0, MaxPublishBytes).Draw(t, "size"),
	}
}

func TestAckIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uid, r := newUID(), anyReceipt(t)
		id := encodeAckID(uid, r)
		if len(id) > 100 {
			t.Fatalf("%d characters", len(id))
		}
		gotUID, got, ok := decodeAckID(id)
		if !ok || gotUID != uid || got != r {
			t.Fatalf("%v %v %v", gotUID, got, ok)
		}
	})
}

func TestAckIDRefusesEveryChangedCharacter(t *testing.T) {
	id := encodeAckID(newUID(), Receipt{ID: NewMessageID(1_750_000_000_000, 17, 1234), Number: 1, Size: 256})
	for i := range id {
		for _, c := range "AB-_z9=+ é\r\n" {
			for _, changed := range []string{id[:i] + string(c) + id[i+1:], id[:i] + string(c) + id[i:], id + string(c)} {
				if _, _, ok := decodeAckID(changed); ok && changed != id {
					t.Errorf("accepted with %q at %d: %q", c, i, changed)
				}
			}
		}
	}
}

func FuzzDecodeAckID(f *testing.F) {
	f.Add(encodeAckID(newUID(), Receipt{ID: NewMessageID(1, 1, 1), Number: 1}))
	f.Add("")
	f.Add(strings.Repeat("A", 200))
	f.Fuzz(func(t *testing.T, s string) {
		uid, r, ok := decodeAckID(s)
		if ok && encodeAckID(uid, r) != s {
			t.Errorf("%q is a second spelling of %q", s, encodeAckID(uid, r))
		}
	})
}

func TestReceiptsRefuseForeignAndMalformedIDs(t *testing.T) {
	sub := Subscription{UID: newUID(), Name: SubscriptionName{"p", "mine"}}
	good := encodeAckID(sub.UID, Receipt{ID: NewMessageID(5, 1, 0), Number: 1})
	foreign := encodeAckID(newUID(), Receipt{ID: NewMessageID(5, 1, 0), Number: 1})
	for name, ids := range map[string][]string{
		"none":      {},
		"malformed": {good, "nonsense"},
		"empty":     {""},
		"foreign":   {good, foreign},
	} {
		if _, _, err := receipts(sub, ids); CodeOf(err) != InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	rs, _, err := receipts(sub, []string{good, good})
	if err != nil || len(rs) != 1 {
		t.Errorf("a repeated id: %v, %v", rs, err)
	}
}
