// Package web is the operator's page: what is behind, why and since when, on the same port as the API.
//
// Pages are rendered here with html/template and are whole without JavaScript. A page is made of parts (page.parts); the script
// assets/live.js asks for the same address as an event stream and puts each part that changed in place of the old (live.go).
// Nothing is loaded from elsewhere: styles, script and icon are embedded, and a strict Content-Security-Policy keeps it so
// (security.go). What is read, and what is changed, goes through the small interfaces of Backend.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"postrider/subscriptions"
)

// Options of the page. The zero value is for use.
type Options struct {
	// Logger takes internal errors; none by default.
	Logger *slog.Logger
	// KnownHost tells whether a request may name this host. Nil allows every one.
	KnownHost func(host string) bool
	// Explain finds the HTTP status of an error and what a reader may see of it.
	Explain func(ctx context.Context, err error) (status int, message string)
	// Warnings are what the operator should mend about the store and the server, and nothing about single subscriptions, of which the
	// page speaks itself; ready is false when it cannot serve. It is asked at most about once a second, however many look.
	Warnings func(context.Context) (ready bool, warnings []string)
	// Secure tells that readers come by TLS, which is taken off before requests get here.
	Secure bool
	// Streams bounds the pages that are updated live at once; DefaultStreams by default.
	Streams int
	// Every is how often a live page is looked at again; DefaultEvery by default.
	Every time.Duration
}

// DefaultStreams is how many pages are updated live at once: further ones can be read, and updated by hand.
const DefaultStreams = 100

// DefaultEvery is how often a live page is looked at again.
const DefaultEvery = 2 * time.Second

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.KnownHost == nil {
		o.KnownHost = func(string) bool { return true }
	}
	if o.Explain == nil {
		o.Explain = func(_ context.Context, err error) (int, string) {
			return http.StatusInternalServerError, string(subscriptions.CodeOf(err))
		}
	}
	if o.Warnings == nil {
		o.Warnings = func(context.Context) (bool, []string) { return true, nil }
	}
	if o.Streams == 0 {
		o.Streams = DefaultStreams
	}
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	return o
}

// Site is the operator's page.
type Site struct {
	backend Backend
	options Options
	log     *slog.Logger
	health  *health
	mux     *http.ServeMux
	guard   *http.CrossOriginProtection

	streams   chan struct{} // one for each stream that may run
	drain     chan struct{} // closed by Drain
	drainOnce sync.Once
}

// New makes the page of a backend.
func New(backend Backend, o Options) *Site {
	o = o.withDefaults()
	s := &Site{
		backend: backend, options: o, log: o.Logger, health: newHealth(o.Warnings),
		mux: http.NewServeMux(), guard: http.NewCrossOriginProtection(),
		streams: make(chan struct{}, o.Streams), drain: make(chan struct{}),
	}
	s.route()
	return s
}

// Beside serves the page's paths, and leaves all others to next.
func (s *Site) Beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ofAPI(r) {
			next.ServeHTTP(w, r)
			return
		}
		if _, pattern := s.mux.Handler(r); pattern == "" {
			next.ServeHTTP(w, r)
			return
		}
		s.secured(s.mux).ServeHTTP(w, r)
	})
}

// ofAPI tells whether a request is one of Google's API, as nearly all are: none of the page's begins like that, so it need not be
// looked up among those.
func ofAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

// Drain ends the streams of live pages; their readers try again, with another server or this one once it is back.
func (s *Site) Drain() { s.drainOnce.Do(func() { close(s.drain) }) }
