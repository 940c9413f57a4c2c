package pusher

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postrider/subscriptions"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestEnvelopes(t *testing.T) {
	id := subscriptions.MessageID{Milli: 1614366829749, Seq: 123450042}
	letters := &subscriptions.DeadLetterPolicy{MaxAttempts: 5}
	for name, c := range map[string]struct {
		message subscriptions.Message
		letters *subscriptions.DeadLetterPolicy
	}{
		"data":       {message: subscriptions.Message{ID: id, Data: []byte("hello?>")}},
		"attributes": {message: subscriptions.Message{ID: id, Attributes: map[string]string{"b": "2", "a": "1", "c": ""}}},
		"all": {letters: letters, message: subscriptions.Message{
			ID: id, Data: []byte{0, 0xff, 0xfe}, OrderingKey: "key-1", Attributes: map[string]string{"origin": "test"}}},
		"escapes": {message: subscriptions.Message{
			ID: id, OrderingKey: "<&>\u2028\t", Attributes: map[string]string{`quo"te\`: "line\nbreak \x01 é 😀"}}},
		"full-second": {message: subscriptions.Message{ID: subscriptions.MessageID{Milli: 1614366829000, Seq: 10001}, Data: []byte("x")}},
	} {
		t.Run(name, func(t *testing.T) {
			sub := subscriptions.Subscription{
				Name: subscriptions.SubscriptionName{Project: "my-project", ID: "my-sub"}, DeadLetter: c.letters,
			}
			got := envelope(&sub, &subscriptions.Delivery{Message: c.message, Attempt: 3})
			compareGolden(t, filepath.Join("testdata", name+".json"), got)
			if n := envelopeSize(&sub, &c.message); name != "escapes" && len(got) > n {
				t.Errorf("%d bytes, more than the %d that were thought enough", len(got), n)
			}
		})
	}
}

// compareGolden compares JSON with a file, which is indented to be read.
func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, got)
	}
	pretty.WriteByte('\n')
	if *update {
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pretty.Bytes(), want) {
		t.Errorf("%s differs:\n%s", file, pretty.Bytes())
	}
}

// Whatever a message holds, the envelope is JSON that says the same.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte("data"), "key", "value", "order")
	f.Add([]byte{}, "\x00\"", "\u2028\xff", "")
	f.Fuzz(func(t *testing.T, data []byte, key, value, order string) {
		m := subscriptions.Message{Data: data, Attributes: map[string]string{key: value}, OrderingKey: order}
		var got struct {
			Message struct {
				Data        []byte
				Attributes  map[string]string
				OrderingKey string
			}
		}
		if err := json.Unmarshal(envelope(&subscriptions.Subscription{}, &subscriptions.Delivery{Message: m}), &got); err != nil {
			t.Fatal(err)
		}
		valid := func(s string) string { return string([]rune(s)) }
		want := fmt.Sprintf("%x %q %q", data, map[string]string{valid(key): valid(value)}, valid(order))
		if have := fmt.Sprintf("%x %q %q", got.Message.Data, got.Message.Attributes, got.Message.OrderingKey); have != want {
			t.Errorf("%s, want %s", have, want)
		}
	})
}

// A time has no fraction or three digits of it, as protobuf's JSON has.
func TestAppendTime(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{
		1614366829000: "2021-02-26T19:13:49Z", 1614366829005: "2021-02-26T19:13:49.005Z", 1614366829050: "2021-02-26T19:13:49.050Z",
		1614366829100: "2021-02-26T19:13:49.100Z", 1614366829999: "2021-02-26T19:13:49.999Z", 1: "1970-01-01T00:00:00.001Z", 0: "1970-01-01T00:00:00Z",
	} {
		m := subscriptions.Message{ID: subscriptions.MessageID{Milli: ms}}
		if got := string(appendTime([]byte("at "), m.PublishTime())); got != "at "+want {
			t.Errorf("%d is %q, want %q", ms, got, want)
		}
	}
}

func BenchmarkEnvelope(b *testing.B) {
	d := subscriptions.Delivery{Message: subscriptions.Message{
		ID: subscriptions.MessageID{Milli: 1614366829749, Seq: 123450042}, Data: []byte(strings.Repeat("x", 256)),
		Attributes: map[string]string{"origin": "test", "kind": "benchmark"},
	}}
	sub := subscriptions.Subscription{Name: subscriptions.SubscriptionName{Project: "my-project", ID: "my-sub"}}
	b.ReportAllocs()
	for b.Loop() {
		envelope(&sub, &d)
	}
}
