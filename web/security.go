package web

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"postrider/subscriptions"
)

// contentPolicy lets a page load and run what this server embeds, and nothing else: no inline script or style, no other origin,
// no frame around it. Text of messages that slipped through the templates could still do nothing.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm bounds the body of a form: a message of 10 MB is published by other means.
const maxForm = 1 << 20

// secured refuses what other web pages send, and names that are not ours, and sends what keeps a page to itself. It is what
// package server does for the API, and for the same reasons.
func (s *Site) secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // messages are nobody else's business
		if !s.options.KnownHost(r.Host) {
			s.fail(w, r, subscriptions.Errorf(subscriptions.PermissionDenied,
				"the server does not serve this host name; its operator can add it to the allowed host names (--allowed-host)"))
			return
		}
		if err := s.guard.Check(r); err != nil {
			s.fail(w, r, subscriptions.WrapError(err, subscriptions.PermissionDenied,
				"requests from web pages of another origin are refused"))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		defer s.recovered(w, r)
		next.ServeHTTP(w, r)
	})
}

// recovered makes a panic the page of an error. Pages are written whole, so there is not half of one before it.
func (s *Site) recovered(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		s.fail(w, r, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	}
}
