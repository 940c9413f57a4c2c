package redisstream

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postrider/subscriptions"
)

var update = flag.Bool("update", false, "write testdata anew; only what is new may change")

// fixtures are messages as they are stored. What a released version wrote must be read for ever: entries are added to
// testdata, never changed.
var fixtures = map[string]subscriptions.Message{
	"empty":      {},
	"data":       {Data: []byte("hello")},
	"binary":     {Data: []byte{0, 1, 0xff, 0xfe, '\n'}},
	"attributes": {Attributes: map[string]string{"b": "2", "a": "1", "empty": "", "é": "ü"}},
	"ordered":    {Data: []byte("x"), OrderingKey: "customer-7"},
	"long":       {Data: bytes.Repeat([]byte("long "), 60), Attributes: map[string]string{"k": strings.Repeat("v", 200)}, OrderingKey: strings.Repeat("k", 150)},
}

// stored is one entry in testdata.
type stored struct {
	Head string `json:"h"`
	Data string `json:"d"` // hexadecimal
}

func TestStoredMessages(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "messages-v1.json")
	if *update {
		write(t, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries map[string]stored
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	for name, entry := range entries {
		want, ok := fixtures[name]
		if !ok {
			t.Errorf("no message is named %s", name)
		}
		raw, err := hex.DecodeString(entry.Data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeMessage(want.ID, string(raw))
		if err != nil || !equal(got, want) {
			t.Errorf("%s reads as %+v (%v), want %+v", name, got, err, want)
		}
		if again := hex.EncodeToString(encodeMessage(want)); again != entry.Data || head(want) != entry.Head {
			t.Errorf("%s is written as %s %s, want %s %s", name, head(want), again, entry.Head, entry.Data)
		}
	}
	if len(entries) != len(fixtures) {
		t.Errorf("%d of %d messages are in testdata: run with -update", len(entries), len(fixtures))
	}
}

func write(t *testing.T, file string) {
	t.Helper()
	entries := map[string]stored{}
	for name, m := range fixtures {
		entries[name] = stored{head(m), hex.EncodeToString(encodeMessage(m))}
	}
	text, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

func equal(a, b subscriptions.Message) bool {
	return a.ID == b.ID && bytes.Equal(a.Data, b.Data) && maps.Equal(a.Attributes, b.Attributes) && a.OrderingKey == b.OrderingKey
}

// TestHead checks the positions that Lua reads.
func TestHead(t *testing.T) {
	t.Parallel()
	if got := head(subscriptions.Message{Data: make([]byte, 255)}); got != "1"+strings.Repeat("0", 16)+"000000ff" {
		t.Errorf("without a key: %s", got)
	}
	with := head(subscriptions.Message{OrderingKey: "a"})
	if len(with) != 25 || with[1:17] != "af63dc4c8601ec8c" { // FNV-1a of "a"
		t.Errorf("with a key: %s", with)
	}
}

func TestDamagedMessages(t *testing.T) {
	t.Parallel()
	whole := string(encodeMessage(fixtures["attributes"]))
	for end := range len(whole) {
		if _, err := decodeMessage(subscriptions.MessageID{}, whole[:end]); err == nil {
			t.Errorf("%d of %d bytes are taken for a message", end, len(whole))
		}
	}
	for _, d := range []string{whole + "x", "\x02" + whole[1:], "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x01\x00\xff\xff\xff\xff\x0f"} {
		if _, err := decodeMessage(subscriptions.MessageID{}, d); err == nil {
			t.Errorf("%q is taken for a message", d)
		}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	for _, m := range fixtures {
		f.Add(string(encodeMessage(m)))
	}
	f.Fuzz(func(t *testing.T, d string) {
		m, err := decodeMessage(subscriptions.NewMessageID(1, 2, 3), d)
		if err != nil {
			return
		}
		again, err := decodeMessage(m.ID, string(encodeMessage(m)))
		if err != nil || !equal(again, m) {
			t.Errorf("%q reads as %+v and then as %+v (%v)", d, m, again, err)
		}
	})
}

func FuzzMessageRoundTrip(f *testing.F) {
	f.Add([]byte("data"), "key", "value", "ordering")
	f.Fuzz(func(t *testing.T, data []byte, key, value, ordering string) {
		m := subscriptions.Message{Data: data, Attributes: map[string]string{key: value, "fixed": ""}, OrderingKey: ordering}
		got, err := decodeMessage(m.ID, string(encodeMessage(m)))
		if err != nil || !equal(got, m) {
			t.Errorf("%+v reads as %+v (%v)", m, got, err)
		}
	})
}

func TestMembersSortAsTheLog(t *testing.T) {
	t.Parallel()
	ids := []subscriptions.MessageID{
		subscriptions.NewMessageID(999, 1, 0),
		subscriptions.NewMessageID(1_700_000_000_000, 9, 9999),
		subscriptions.NewMessageID(1_700_000_000_000, 10, 0),
		subscriptions.NewMessageID(1_700_000_000_000, 900_000_000_000, 1),
		subscriptions.NewMessageID(1_700_000_000_001, 1, 0),
	}
	for i, id := range ids {
		if back, key, err := parseMember(member(id, 7)); err != nil || back != id || key != 7 {
			t.Errorf("%s reads as %s (%v)", member(id, 0), back, err)
		}
		if i > 0 && member(ids[i-1], 0) >= member(id, 0) {
			t.Errorf("%s does not come before %s", member(ids[i-1], 0), member(id, 0))
		}
	}
	if _, _, err := parseMember("x"); err == nil {
		t.Error("x is taken for a member")
	}
}
