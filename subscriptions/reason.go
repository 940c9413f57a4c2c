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

// MaxReason bounds the Reason of a Nack, in bytes.
const MaxReason = 200

// Reason makes any text fit for the Reason of a Nack.
func Reason(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	for len(text) > MaxReason {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
