package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind int8

const (
	end kind = iota
	word
	literal // a text in quotes
	sign    // any other character, or !=
	broken  // a literal that cannot be read: text says what stands at start, value what would be right
)

// token is a part of an expression.
type token struct {
	kind   kind
	start  int // in bytes
	text   string
	value  string // of a word or a literal
	called bool   // a parenthesis follows
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "end"
	case word:
		return t.text
	case literal:
		return "text in quotes"
	}
	return strconv.Quote(t.text)
}

// lexer cuts an expression into tokens.
type lexer struct {
	text  string
	place int // in bytes
}

// position turns a place into the count of characters from 1.
func (l *lexer) position(place int) int { return utf8.RuneCountInString(l.text[:place]) + 1 }

func (l *lexer) at(place int, found, advice string) error {
	return &SyntaxError{l.position(place), found, advice}
}

// scan reads the next token.
func (l *lexer) scan() token {
	l.skipSpace()
	switch rest := l.text[l.place:]; {
	case rest == "":
		return token{start: l.place}
	case rest[0] == '"':
		return l.scanLiteral()
	case isWord(rest[0]) && rest[0] != '-':
		return l.scanWord()
	case strings.HasPrefix(rest, "!="):
		return l.cut(sign, 2)
	default:
		_, size := utf8.DecodeRuneInString(rest)
		return l.cut(sign, size)
	}
}

// scanKey reads the next token where a key is due, which may begin with a hyphen.
func (l *lexer) scanKey() token {
	l.skipSpace()
	if l.place < len(l.text) && l.text[l.place] == '-' {
		return l.scanWord()
	}
	return l.scan()
}

func (l *lexer) skipSpace() {
	for l.place < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.place]) >= 0 {
		l.place++
	}
}

// cut takes a token of so many bytes.
func (l *lexer) cut(k kind, size int) token {
	t := token{kind: k, start: l.place, text: l.text[l.place : l.place+size]}
	l.place += size
	return t
}

func isWord(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func (l *lexer) scanWord() token {
	size := 0
	for l.place+size < len(l.text) && isWord(l.text[l.place+size]) {
		size++
	}
	t := l.cut(word, size)
	t.value = t.text
	l.skipSpace()
	t.called = strings.HasPrefix(l.text[l.place:], "(")
	return t
}

// scanLiteral reads a text in quotes.
func (l *lexer) scanLiteral() token {
	start := l.place
	var value []byte
	for at := start + 1; at < len(l.text); {
		switch c := l.text[at]; {
		case c == '"':
			if !utf8.Valid(value) {
				return l.breaks(start, "text in quotes", "its escapes make no valid UTF-8; \\u00e9 stands for a character, \\xe9 for a byte")
			}
			t := l.cut(literal, at+1-start)
			t.value = string(value)
			return t
		case c == '\\':
			escaped, size, advice := unescape(l.text[at:])
			if advice != "" {
				return l.breaks(at, "escape", advice)
			}
			value = append(value, escaped...)
			at += size
		case c < ' ' || c == 0x7f:
			return l.breaks(at, fmt.Sprintf("character %q", c), fmt.Sprintf("write \\x%02x", c))
		default:
			value = append(value, c)
			at++
		}
	}
	return l.breaks(len(l.text), "end", fmt.Sprintf("the quote at %d is not closed", l.position(start)))
}

func (l *lexer) breaks(place int, found, advice string) token {
	l.place = len(l.text)
	return token{kind: broken, start: place, text: found, value: advice}
}

// simpleEscapes are those of one letter, as in C.
const (
	escapeLetters = `abfnrtv\"'?`
	escapeValues  = "\a\b\f\n\r\t\v\\\"'?"
)

// unescape reads the escape that a text begins with, and gives what it stands for and how long it is, or advice.
func unescape(s string) (value string, size int, advice string) {
	if len(s) < 2 {
		return "", 0, "a backslash before a quote is written \\\\"
	}
	if i := strings.IndexByte(escapeLetters, s[1]); i >= 0 {
		return escapeValues[i : i+1], 2, ""
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	switch {
	case '0' <= s[1] && s[1] <= '7':
		size = 1
		for size < 4 && size < len(s) && '0' <= s[size] && s[size] <= '7' {
			size++
		}
		n, err := strconv.ParseUint(s[1:size], 8, 8)
		if err != nil {
			return "", 0, "an octal escape is at most \\377"
		}
		return string([]byte{byte(n)}), size, ""
	case digits == 0:
		return "", 0, "a backslash is written \\\\"
	}
	size = 2 + digits
	if len(s) < size {
		return "", 0, fmt.Sprintf("\\%c takes %d hexadecimal digits", s[1], digits)
	}
	n, err := strconv.ParseUint(s[2:size], 16, 32)
	switch {
	case err != nil:
		return "", 0, fmt.Sprintf("\\%c takes %d hexadecimal digits", s[1], digits)
	case digits == 2:
		return string([]byte{byte(n)}), size, ""
	case n > utf8.MaxRune || !utf8.ValidRune(rune(n)):
		return "", 0, "there is no such character; those beyond \\uffff are written with \\U and 8 digits"
	}
	return string(rune(n)), size, ""
}
