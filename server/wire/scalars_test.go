package wire_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"postrider/server/wire"
)

func TestInt64(t *testing.T) {
	for text, want := range map[string]wire.Int64{
		`9223372036854775807`:    math.MaxInt64,
		`"-9223372036854775808"`: math.MinInt64,
		`"9.2e18"`:               9_200_000_000_000_000_000,
		`0.0`:                    0,
	} {
		var got wire.Int64
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{`9223372036854775808`, `"1.5"`, `""`, `"-"`, `"1e"`, `true`} {
		var got wire.Int64
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s":              0,
		"600s":            10 * time.Minute,
		"1.500s":          1500 * time.Millisecond,
		"0.000001s":       time.Microsecond,
		"-0.000000001s":   -1,
		"-1.100s":         -1100 * time.Millisecond,
		"9223372035s":     9223372035 * time.Second,
		"9223372035.999s": 9223372035*time.Second + 999*time.Millisecond,
		"315576000000s":   math.MaxInt64,
		"-315576000000s":  math.MinInt64,
	} {
		var d wire.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.Duration() != want {
			t.Errorf("%s: %v, %v", text, d.Duration(), err)
		}
		if got, err := d.MarshalText(); err != nil || string(got) != text {
			t.Errorf("%s: written as %s, %v", text, got, err)
		}
		if want != math.MaxInt64 && want != math.MinInt64 && *wire.NewDuration(want) != d {
			t.Errorf("%s: NewDuration gives %v", text, *wire.NewDuration(want))
		}
	}
}

func TestTimestampThroughEncodingJSON(t *testing.T) {
	var got wire.Timestamp
	if err := json.Unmarshal([]byte(`"2025-01-31T12:00:00.5+01:00"`), &got); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(got); err != nil || string(b) != `"2025-01-31T11:00:00.500Z"` {
		t.Errorf("%s, %v", b, err)
	}
	for _, text := range []string{`1`, `""`, `"2025-01-31"`, `{}`} {
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("accepted %s", text)
		}
	}
}

func TestFieldMask(t *testing.T) {
	for mask, want := range map[wire.FieldMask][]string{
		"":                                  nil,
		"  ":                                nil,
		"labels":                            {"labels"},
		" ack_deadline_seconds,labels ":     {"ackDeadlineSeconds", "labels"},
		"retryPolicy.minimumBackoff":        {"retryPolicy.minimumBackoff"},
		"retry_policy.minimum_backoff,push": {"retryPolicy.minimumBackoff", "push"},
	} {
		got, err := mask.Paths()
		if err != nil || mustJSON(t, got) != mustJSON(t, want) {
			t.Errorf("%q: %q, %v", mask, got, err)
		}
	}
	for _, mask := range []wire.FieldMask{",", "a,", "a, b", "a b", ".a", "a.", "1a", "é", "a-b", "*"} {
		if got, err := mask.Paths(); err == nil {
			t.Errorf("%q: %q", mask, got)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, text := range []string{"1.5s", "-0.5s", "+1s", ".s", "315576000000.999999999s", "01s", "1.0000000000s", "s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var first, second wire.Duration
		if first.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := first.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := second.UnmarshalText(written); err != nil || first != second {
			t.Fatalf("%q is %v, written %q is %v: %v", text, first, written, second, err)
		}
		if (first.Duration() < 0) != (first.Seconds < 0 || first.Nanos < 0) {
			t.Fatalf("%q is %v", text, first.Duration())
		}
	})
}

func TestDouble(t *testing.T) {
	t.Parallel()
	type limits struct {
		Rate float64 `json:"rate,omitempty"`
	}
	for text, want := range map[string]float64{`0.5`: 0.5, `"2.50"`: 2.5, `-1e3`: -1000, `100000`: 100000, `0`: 0} {
		var got limits
		if err := wire.Unmarshal([]byte(`{"rate": `+text+`}`), &got); err != nil || got.Rate != want {
			t.Errorf("%s: %v, %v", text, got.Rate, err)
		}
		again := limits{-1}
		b, err := wire.Marshal(got)
		if err != nil || wire.Unmarshal(b, &again) != nil || want != 0 && again != got {
			t.Errorf("%s: written as %s, %v", text, b, err)
		}
	}
	for _, text := range []string{`"NaN"`, `"Infinity"`, `1e999`, `"0x10"`, `""`, `true`, `"1_000"`, `[1]`} {
		var got limits
		if err := wire.Unmarshal([]byte(`{"rate": `+text+`}`), &got); err == nil {
			t.Errorf("%s: %v", text, got.Rate)
		}
	}
}
