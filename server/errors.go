package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"

	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"postrider/server/api"
	"postrider/server/rules"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// statuses is the one table from the API's codes to HTTP's.
var statuses = map[subscriptions.Code]int{
	subscriptions.InvalidArgument:    http.StatusBadRequest,
	subscriptions.FailedPrecondition: http.StatusBadRequest,
	subscriptions.PermissionDenied:   http.StatusForbidden,
	subscriptions.NotFound:           http.StatusNotFound,
	subscriptions.AlreadyExists:      http.StatusConflict,
	subscriptions.Aborted:            http.StatusConflict,
	subscriptions.ResourceExhausted:  http.StatusTooManyRequests,
	subscriptions.Canceled:           499, // as Google and nginx have it; nobody is there to read it
	subscriptions.Internal:           http.StatusInternalServerError,
	subscriptions.Unimplemented:      http.StatusNotImplemented,
	subscriptions.Unavailable:        http.StatusServiceUnavailable,
	subscriptions.DeadlineExceeded:   http.StatusGatewayTimeout,
}

// refusal is an error of HTTP's own: its status is not the one of its code.
type refusal struct {
	status int
	err    *subscriptions.Error
}

func (e *refusal) Error() string { return e.err.Error() }

// explain finds what to tell of an error.
func explain(ctx context.Context, err error) (status int, e *subscriptions.Error) {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.status, refused.err
	}
	e = rules.Explain(ctx, err)
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return status, e
}

// Explain finds the status of an error, and what a caller may read of it.
func Explain(ctx context.Context, err error) (status int, message string) {
	status, e := explain(ctx, err)
	return status, rules.Legible(e.Message)
}

// fail answers with an error. It is the one writer of errors.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if begun(w) {
		// The error is that the rest of an answer cannot follow: its reader has gone, and net/http closes the connection.
		h.log.DebugContext(r.Context(), "an answer broke off", "path", r.URL.Path, "error", err)
		return
	}
	status, e := explain(r.Context(), err)
	h.logFailure(r, e.Code, err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10))
	}
	body := api.Error{Error: api.ErrorStatus{Code: status, Message: rules.Legible(e.Message), Status: string(e.Code), Details: details(e)}}
	if err := wire.WriteJSON(w, status, body); err != nil {
		h.log.DebugContext(r.Context(), "the answer could not be written", "path", r.URL.Path, "error", err)
	}
}

// details are what programs are told of an error.
func details(e *subscriptions.Error) []api.ErrorDetail {
	if e.Info == nil {
		return nil
	}
	info, err := json.Marshal(map[string]any{
		"@type":  "type.googleapis.com/google.rpc.ErrorInfo",
		"reason": e.Info.Reason, "domain": subscriptions.ErrorDomain, "metadata": e.Info.Metadata,
	})
	if err != nil {
		return nil // cannot happen: it is all text
	}
	return []api.ErrorDetail{api.ErrorDetail(info)}
}

// logFailure keeps what callers do not see. Only what should never happen is worth an error line: an unreachable store is
// told by the store itself, once and not with every request.
func (h *handler) logFailure(r *http.Request, code subscriptions.Code, err error) {
	level := slog.LevelDebug
	if code == subscriptions.Internal {
		level = slog.LevelError
	}
	h.log.Log(r.Context(), level, "a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
}

// begun tells whether the status line of an answer is written.
func begun(w http.ResponseWriter) bool {
	tracked, ok := w.(chimiddleware.WrapResponseWriter)
	return ok && tracked.Status() != 0
}

// bodyError answers that a body cannot be read.
func (h *handler) bodyError(w http.ResponseWriter, r *http.Request, err error) {
	var malformed *wire.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &malformed):
		err = subscriptions.Errorf(subscriptions.InvalidArgument, "%s", malformed.Error())
	case errors.As(err, &tooLarge):
		h.bodyTooLarge(w, r)
		return
	case errors.Is(err, errNoRoom), tooSlow(err):
		err = unread(w, err)
	case errors.Is(err, io.EOF):
		err = subscriptions.Errorf(subscriptions.InvalidArgument, "a body is required: a JSON object, {} at least")
	default:
		err = subscriptions.WrapError(err, subscriptions.InvalidArgument, "the body ended early")
	}
	h.fail(w, r, err)
}

func (h *handler) bodyTooLarge(w http.ResponseWriter, r *http.Request) {
	// What is left of the body is not worth reading to find the next request behind it.
	w.Header().Set("Connection", "close")
	h.fail(w, r, &refusal{http.StatusRequestEntityTooLarge,
		subscriptions.Errorf(subscriptions.InvalidArgument, "the body is larger than %d bytes", h.options.MaxBody)})
}

// parameterError answers that a parameter of the query or path cannot be read. The generated text has words that say nothing
// to a caller.
func (h *handler) parameterError(w http.ResponseWriter, r *http.Request, err error) {
	told := "a parameter cannot be read"
	var malformed *api.InvalidParamFormatError
	if errors.As(err, &malformed) {
		given := strings.Join(r.URL.Query()[malformed.ParamName], ",")
		told = fmt.Sprintf("%s: %q cannot be read", malformed.ParamName, clip(given))
	}
	h.fail(w, r, subscriptions.WrapError(err, subscriptions.InvalidArgument, "%s", told))
}

func (h *handler) notFound(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, subscriptions.Errorf(subscriptions.NotFound, "%s %s: there is no such method", r.Method, r.URL.Path))
}
