package subscriptions

import (
	"errors"
	"fmt"
	"time"
)

// Code is an error code in the API's own words (google.rpc.Code).
type Code string

// The codes Postrider answers with. Transports map each to a status; anything
// that is not an *Error is Internal outside and whole inside.
const (
	InvalidArgument    Code = "INVALID_ARGUMENT"
	NotFound           Code = "NOT_FOUND"
	AlreadyExists      Code = "ALREADY_EXISTS"
	FailedPrecondition Code = "FAILED_PRECONDITION"
	ResourceExhausted  Code = "RESOURCE_EXHAUSTED"
	Aborted            Code = "ABORTED"
	Unimplemented      Code = "UNIMPLEMENTED"
	Unavailable        Code = "UNAVAILABLE"
	DeadlineExceeded   Code = "DEADLINE_EXCEEDED"
	Canceled           Code = "CANCELLED"
	PermissionDenied   Code = "PERMISSION_DENIED"
	Internal           Code = "INTERNAL"
)

// Error is an error whose message may be shown to a caller. Its cause is for
// logs only.
type Error struct {
	Code    Code
	Message string
	// RetryAfter, when positive, is how long a caller should wait before it
	// tries again.
	RetryAfter time.Duration
	// Info, if there is any, tells programs more.
	Info  *ErrorInfo
	cause error
}

// ErrorDomain is the domain of every ErrorInfo: the API's own.
const ErrorDomain = "pubsub.googleapis.com"

// ErrorInfo tells programs why something failed (google.rpc.ErrorInfo).
type ErrorInfo struct {
	Reason   string
	Metadata map[string]string
}

func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an Error that has no cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WrapError makes an Error around a cause that callers do not see.
func WrapError(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// CodeOf returns the code of the first *Error that err wraps: "" for nil, and
// Internal for what is none of ours.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// What a store answers when the configuration that a call carries is not the
// one in the topic's slot. The Service reloads the record and tries again, so
// neither reaches a caller.
var (
	// ErrStale means that the slot holds a newer configuration revision.
	ErrStale = errors.New("configuration revision is stale")
	// ErrGone means that the slot holds no such topic or subscription, or that
	// the topic is closed to what was asked of it.
	ErrGone = errors.New("no such state in the topic's slot")
)
