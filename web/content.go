package web

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is shown of a message's data at most, in bytes. Indented JSON may be longer than what it comes from.
const (
	maxShown    = 64 << 10
	maxInList   = 8 << 10 // of each of several messages
	maxShownHex = 8 << 10
	// maxDepth is how deep JSON may nest that is indented: what is nested deeper grows by the square of it.
	maxDepth = 32
)

// content is a message's data as it is shown.
type content struct {
	As    string // text, json or hex
	Text  string
	Size  int
	Shown int // less than Size if it is cut
}

// Cut tells whether there is more than is shown.
func (c content) Cut() bool { return c.Shown < c.Size }

// newContent shows data as text, json or hex, at most so many bytes of it; as "" it is what suits the data.
func newContent(data []byte, as string, most int) content {
	if as != "text" && as != "json" && as != "hex" {
		as = suitable(data)
	}
	c := content{As: as, Size: len(data)}
	if as == "json" {
		if len(data) <= most && json.Valid(data) && depth(data) <= maxDepth {
			var b bytes.Buffer
			_ = json.Indent(&b, data, "", "  ") // cannot fail: it is valid
			if b.Len() <= 2*most {
				c.Text, c.Shown = b.String(), len(data)
				return c
			}
		}
		c.As = "text"
	}
	if c.As == "hex" {
		c.Shown = min(len(data), most, maxShownHex)
		c.Text = hex.Dump(data[:c.Shown])
		return c
	}
	c.Shown = min(len(data), most)
	c.Text = strings.ToValidUTF8(string(data[:c.Shown]), "\uFFFD")
	return c
}

// depth is how deep valid JSON nests.
func depth(data []byte) int {
	var now, most int
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

// suitable is the way to show data that its reader is most likely to want.
func suitable(data []byte) string {
	start := bytes.TrimLeft(data, " \t\r\n")
	if len(start) > 0 && (start[0] == '{' || start[0] == '[') && len(data) <= maxShown && json.Valid(data) {
		return "json"
	}
	head := data[:min(len(data), 1024)]
	for i := 0; i < utf8.UTFMax && len(head) < len(data) && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // a rune was cut
	}
	if !utf8.Valid(head) || bytes.ContainsFunc(head, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n\x1b", r)
	}) {
		return "hex"
	}
	return "text"
}

// excerpt is the beginning of data on one line.
func excerpt(data []byte) string {
	const most = 120
	if suitable(data) == "hex" {
		head := data[:min(len(data), 24)]
		return fmt.Sprintf("% x", head)
	}
	text := strings.Join(strings.Fields(string(data[:min(len(data), 4*most)])), " ")
	text = strings.ToValidUTF8(text, "\uFFFD")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// visible writes text so that nothing of it is hidden and nothing of it changes how the rest is read: control characters, and
// those that turn the direction of writing or have no width, are written out.
func visible(text string) template.HTML {
	var b strings.Builder
	rest := 0
	for i, r := range text {
		if !hidden(r) {
			continue
		}
		template.HTMLEscape(&b, []byte(text[rest:i]))
		fmt.Fprintf(&b, `<span class="hidden-rune">U+%04X</span>`, r)
		rest = i + utf8.RuneLen(r)
	}
	template.HTMLEscape(&b, []byte(text[rest:]))
	return template.HTML(b.String())
}

// hidden tells whether a character cannot be seen where it stands. The joiners are part of how some scripts, and emoji, are
// written.
func hidden(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}
