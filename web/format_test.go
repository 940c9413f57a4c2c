package web

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 400 * time.Millisecond: "0 s", 24 * time.Second: "24 s", 119 * time.Second: "119 s",
		2 * time.Minute: "2 min", 12 * time.Minute: "12 min", 3 * time.Hour: "3 h", 47 * time.Hour: "47 h", 9 * 24 * time.Hour: "9 d",
		math.MaxInt64: "106751 d",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, not %q", d, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	for r, want := range map[float64]string{
		0: "", -1: "", 0.004: "", 0.05: "0.05", 1.24: "1.2", 12.4: "12", 1234: "1,234", 12_345: "12.3k", 2.5e6: "2.5M",
	} {
		if got := rate(r); got != want {
			t.Errorf("%v is %q, not %q", r, got, want)
		}
	}
	if got := rate(math.NaN()); got != "" {
		t.Errorf("no number is %q", got)
	}
}

func TestMomentsCarryTheExactTime(t *testing.T) {
	want := `<time datetime="2026-11-29T17:00:00Z" title="2026-11-29 17:00:00 UTC">3 h</time>`
	if got := string(age(now, 3*time.Hour)); got != want {
		t.Errorf("got %s", got)
	}
	if got := string(ago(now, now.Add(time.Minute))); got != `<time datetime="2026-11-29T20:01:00Z" title="2026-11-29 20:01:00 UTC">in 60 s</time>` {
		t.Errorf("got %s", got)
	}
}

func TestDueIsNowOrLater(t *testing.T) {
	for in, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 999 * time.Millisecond: "now",
		time.Second: `<time datetime="2026-11-29T20:00:01Z" title="2026-11-29 20:00:01 UTC">in 1 s</time>`,
	} {
		if got := string(due(now, now.Add(in))); got != want {
			t.Errorf("in %v is %s", in, got)
		}
	}
}

func TestVisibleHidesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"plain <b>":      "plain &lt;b&gt;",
		"a\u202eb":       `a<span class="hidden-rune">U+202E</span>b`,
		"\x00\x1b[31m":   `<span class="hidden-rune">U+0000</span><span class="hidden-rune">U+001B</span>[31m`,
		"a\nb\tc":        "a\nb\tc",
		"👩\u200d🚀":       "👩\u200d🚀",
		"bad \xff byte":  "bad \xff byte", // the browser shows a replacement
		"\u2028\ufeffz,": `<span class="hidden-rune">U+2028</span><span class="hidden-rune">U+FEFF</span>z,`,
	} {
		if got := string(visible(text)); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestDrainsSaysNothingTooEarly(t *testing.T) {
	for _, c := range []struct {
		drains, oldest time.Duration
		want           string
	}{
		{0, 0, "–"}, {-1, 2 * time.Second, "–"}, {-1, time.Minute, "never"}, {time.Hour, time.Second, "60 min"},
	} {
		if got := string(drains(now, c.drains, c.oldest)); !strings.Contains(got, c.want) {
			t.Errorf("%v, the oldest for %v: %s, not %s", c.drains, c.oldest, got, c.want)
		}
	}
}
