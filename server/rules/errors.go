package rules

import (
	"context"
	"errors"
	"strings"

	"postrider/subscriptions"
)

// Explain finds what to tell a caller of an error. What is none of the domain's is told by its code alone.
func Explain(ctx context.Context, err error) *subscriptions.Error {
	var e *subscriptions.Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return subscriptions.WrapError(err, subscriptions.Canceled, "the caller has gone")
	default:
		return subscriptions.WrapError(err, subscriptions.Internal, "internal error")
	}
}

// maxMessage bounds an error's text, which may quote what the caller sent.
const maxMessage = 2_000

// Legible makes an error's text fit for an answer.
func Legible(message string) string {
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	return strings.ToValidUTF8(message, "\uFFFD")
}

// UnlessMissing is err, which is about what a request says, unless what the request is about does not exist: that comes first.
func UnlessMissing[T any](err error, get func() (T, error)) error {
	if _, missing := get(); missing != nil {
		return missing
	}
	return err
}
