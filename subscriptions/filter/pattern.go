package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxPatternBytes is how long a pattern may be: as long as a routing key of AMQP.
const MaxPatternBytes = 255

// Pattern is a compiled routing pattern: words between dots, where * stands for one word and # for any number of them,
// none included. Any goroutine may use it.
type Pattern struct{ words []string }

// ParsePattern checks a pattern.
func ParsePattern(text string) (*Pattern, error) {
	switch {
	case text == "":
		return nil, fmt.Errorf("is empty; # matches every value")
	case len(text) > MaxPatternBytes:
		return nil, fmt.Errorf("is %d bytes long; at most %d are allowed", len(text), MaxPatternBytes)
	}
	words := strings.Split(text, ".")
	for i, w := range words {
		if len(w) > 1 && strings.ContainsAny(w, "*#") {
			return nil, fmt.Errorf("has %q as word %d: * stands for one whole word and # for any number of them", w, i+1)
		}
	}
	// One # after another adds nothing.
	words = slices.CompactFunc(words, func(a, b string) bool { return a == "#" && b == "#" })
	return &Pattern{words}, nil
}

// CheckWords refuses words that no routing key has, and that are most likely meant for another system. A pattern that was
// stored before this was checked keeps its meaning, so ParsePattern allows them.
func CheckWords(text string) error {
	at := 1
	for _, w := range strings.Split(text, ".") {
		switch w {
		case "":
			return &SyntaxError{at, "empty word", "single dots stand between words; use * for one word, # for any number of words"}
		case ">":
			return &SyntaxError{at, `">"`, "use # for any number of words"}
		}
		at += utf8.RuneCountInString(w) + 1
	}
	return nil
}

// Matches tells whether a value does. The empty value has no words.
func (p *Pattern) Matches(value string) bool {
	// As in the matching of file names, only the last # needs to be reconsidered: what stands before it has matched as
	// early as it could.
	next, many, from := 0, -1, 0
	for at := 0; ; {
		word, rest, more := wordAt(value, at)
		switch {
		case next < len(p.words) && p.words[next] == "#":
			many, from = next, at
			next++
			continue
		case !more && next == len(p.words):
			return true
		case more && next < len(p.words) && (p.words[next] == "*" || p.words[next] == word):
			next, at = next+1, rest
			continue
		}
		_, rest, more = wordAt(value, from)
		if many < 0 || !more {
			return false
		}
		next, from = many+1, rest
		at = from
	}
}

// wordAt is the word that begins at a place and where the next one does; false behind the last one.
func wordAt(value string, at int) (word string, next int, ok bool) {
	if value == "" || at > len(value) {
		return "", at, false
	}
	if dot := strings.IndexByte(value[at:], '.'); dot >= 0 {
		return value[at : at+dot], at + dot + 1, true
	}
	return value[at:], len(value) + 1, true
}
