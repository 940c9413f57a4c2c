package web

import (
	"bytes"
	"strings"
	"testing"
)

func TestContentIsShownAsSuitsIt(t *testing.T) {
	cases := []struct {
		name, data, as string
		wantAs, want   string
		shown          int
	}{
		{"JSON is indented", `{"a":[1,2]}`, "", "json", "{\n  \"a\": [\n    1,\n    2\n  ]\n}", 11},
		{"a number is text", `12`, "", "text", "12", 2},
		{"text", "hello\nworld", "", "text", "hello\nworld", 11},
		{"binary is hex", "\x00\x01\xff", "", "hex", "00000000  00 01 ff                                          |...|\n", 3},
		{"nothing", "", "", "text", "", 0},
		{"text on demand, whatever it is", "a\xffb", "text", "text", "a\uFFFDb", 3},
		{"hex on demand", "A", "hex", "hex", "00000000  41                                                |A|\n", 1},
		{"JSON on demand that is none", "{", "json", "text", "{", 1},
		{"an unknown way", "x", "exec", "text", "x", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := newContent([]byte(c.data), c.as, maxShown)
			if got.As != c.wantAs || got.Text != c.want || got.Shown != c.shown || got.Cut() {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestContentIsBounded(t *testing.T) {
	for name, data := range map[string][]byte{
		"text":             bytes.Repeat([]byte("ä"), 5_000_000),
		"binary":           make([]byte, 10_000_000),
		"JSON":             []byte("[" + strings.Repeat("1,", 4_000_000) + "1]"),
		"brackets in text": []byte(`["` + strings.Repeat(`[\"`, 1000) + `"]`),
		"nested":           []byte(strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)),
		"deep":             []byte(strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000)),
	} {
		for _, as := range []string{"", "text", "json", "hex"} {
			if c := newContent(data, as, maxShown); len(c.Text) > 2*maxShown {
				t.Errorf("%s as %q: %d bytes are shown", name, as, len(c.Text))
			}
		}
	}
}

func TestExcerptIsOneLine(t *testing.T) {
	for data, want := range map[string]string{
		"a\n b\tc":                "a b c",
		"\x00\x01":                "00 01",
		strings.Repeat("ä", 1000): strings.Repeat("ä", 120) + "…",
	} {
		if got := excerpt([]byte(data)); got != want {
			t.Errorf("%.20q is %q", data, got)
		}
	}
}
