package subscriptions

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Why an attempt failed, where nothing more is known.
const (
	ReasonExpired = "the ack deadline passed without an answer"
	ReasonRefused = "refused by the subscriber"
)

// ReasonLate is why a message is a dead letter whose time to live is over.
const ReasonLate = "the time of " + AttributeTTL + " is over"

// What is kept of why an attempt failed, in bytes.
const (
	MaxReason = 200
	MaxAnswer = 120
)

// Reason makes any text fit for the Reason of a Failure.
func Reason(text string) string { return line(text, MaxReason) }

// Answer makes any text fit for the Answer of a Failure.
func Answer(text string) string { return line(text, MaxAnswer) }

// line makes one line of a text, of at most so many bytes.
func line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
