package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"postrider/subscriptions"
)

// logged writes a line a request at debug level. The query is left out, since it may hold a key or token, and so are headers.
func (h *handler) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tracked := chimiddleware.NewWrapResponseWriter(w, r.ProtoMajor)
		start := time.Now()
		defer func() {
			if h.log.Enabled(r.Context(), slog.LevelDebug) {
				h.log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
					"status", tracked.Status(), "bytes", tracked.BytesWritten(), "took", time.Since(start))
			}
		}()
		next.ServeHTTP(tracked, r)
	})
}

// recovered makes a panic an internal error.
func (h *handler) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch v := recover(); {
			case v == nil:
			case v == http.ErrAbortHandler:
				panic(v)
			default:
				cause := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
				if begun(w) {
					h.logFailure(r, subscriptions.Internal, cause)
					panic(http.ErrAbortHandler) // half an answer must not look whole
				}
				h.fail(w, r, subscriptions.WrapError(cause, subscriptions.Internal, "internal error"))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// readable refuses what would be misread: a query of which net/url drops the part that it cannot read, so that a broken page
// token would ask for the first page again, and an encoded body.
func (h *handler) readable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			h.fail(w, r, subscriptions.WrapError(err, subscriptions.InvalidArgument,
				"the query cannot be read: parameters are separated by &, and a %% starts two hexadecimal digits"))
			return
		}
		if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			h.fail(w, r, &refusal{http.StatusUnsupportedMediaType, subscriptions.Errorf(subscriptions.InvalidArgument,
				"a body with the Content-Encoding %q is not supported: send it as it is", clip(encoding))})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// boundBody refuses bodies that are too large: before reading when they say so, while reading when they do not.
func (h *handler) boundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > h.options.MaxBody {
			h.bodyTooLarge(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, h.options.MaxBody)
		next.ServeHTTP(w, r)
	})
}

// properVerb refuses a verb with a method that it does not take. A colon is in no id, so GET topics/t:publish is no topic of an
// odd name, as the routes have it. POST has no routes of resources alone.
func properVerb(routes chi.Routes, refuse http.Handler) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path := r.URL.EscapedPath()
			if r.Method != http.MethodPost && hasVerb(path) {
				if takes := methodsOf(routes, path); len(takes) > 0 && !slices.Contains(takes, r.Method) {
					refuse.ServeHTTP(w, r)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// hasVerb tells whether a path or pattern ends with one.
func hasVerb(path string) bool {
	return strings.Contains(path[strings.LastIndexByte(path, '/')+1:], ":")
}

// methods are all that routes use. HEAD is where GET is, by chi's GetHead.
var methods = []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut}

// methodsOf are the methods that a path takes. One with a verb takes those of the verb.
func methodsOf(routes chi.Routes, path string) []string {
	var all []string
	for _, method := range methods {
		if pattern := routes.Find(chi.NewRouteContext(), method, path); pattern != "" && hasVerb(pattern) == hasVerb(path) {
			all = append(all, method)
		}
	}
	return all
}

// methodNotAllowed answers where a path is known but not with this method. chi keeps what it found to itself, so the routes
// are asked again.
func (h *handler) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		allowed := methodsOf(routes, r.URL.EscapedPath())
		if len(allowed) == 0 {
			h.notFound(w, r)
			return
		}
		list := strings.Join(allowed, ", ")
		w.Header().Set("Allow", list)
		h.fail(w, r, &refusal{http.StatusMethodNotAllowed, subscriptions.Errorf(subscriptions.Unimplemented,
			"%s does not take %s, but %s", r.URL.Path, r.Method, list)})
	}
}
