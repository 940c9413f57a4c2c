package web

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"postrider/subscriptions"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"asset": assetPath, "age": age, "ago": ago, "ahead": ahead, "at": exactTime, "since": since, "due": due,
	"count": func(n any) string { return count(whole(n)) }, "size": func(n any) string { return size(whole(n)) },
	"plural":   func(n any, one string) string { return plural(whole(n), one) },
	"attempts": func(now time.Time, failed []subscriptions.Attempt) attempts { return attempts{now, failed} },
	"rate":     rate, "visible": visible, "capital": sentence, "spark": spark,
	"topicPath": topicPath, "subscriptionPath": subscriptionPath, "operationPath": operationPath, "join": strings.Join, "span": span, "drains": drains,
}).ParseFS(templateFiles, "templates/*.html"))

// attempts are those of a message, and when they are looked at.
type attempts struct {
	Now    time.Time
	Failed []subscriptions.Attempt
}

// whole is a number of any width, as templates have them.
func whole(n any) int64 { return reflect.ValueOf(n).Int() }

// page is what a handler shows: a template, its parts that may change while somebody looks, and what both show.
type page struct {
	title   string
	section string // of the navigation
	name    string // of the template
	parts   []string
	status  int // 200 by default
	data    any
}

// view is what templates see.
type view struct {
	Title, Section string
	Now            time.Time
	// Base is the server's address as the reader knows it, for command lines.
	Base string
	// Live tells whether the page has parts that are updated.
	Live bool
	// Done is what has just been done, if the reader comes from a form.
	Done string
	D    any
}

func (s *Site) newView(r *http.Request, p page) view {
	scheme := "http://"
	if s.options.Secure {
		scheme = "https://"
	}
	return view{
		Title: p.title, Section: p.section, Now: time.Now().UTC(), Base: scheme + r.Host,
		Live: len(p.parts) > 0, Done: done[r.URL.Query().Get("done")], D: p.data,
	}
}

// done are the sentences after a form, by the word that stands in the address: free text there could be anybody's.
var done = map[string]string{
	"breaker":     "The circuit breaker is closed: the endpoint is tried again.",
	"skip":        "The message is dropped, and its ordering key goes on.",
	"dead-letter": "The message has gone to the dead-letter topic, and its ordering key goes on.",
	"stop":        "The operation has been asked to stop; what it did stays done.",
	"published":   "The message is published.",
}

// show answers with a page, or an event stream of its parts.
func (s *Site) show(read func(*http.Request) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if r.Header.Get("Accept") == eventStream {
			s.stream(w, r, read)
			return
		}
		p, err := read(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.render(w, r, p)
	}
}

// render writes a page once it is whole: half a page is never shown.
func (s *Site) render(w http.ResponseWriter, r *http.Request, p page) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, p.name, s.newView(r, p)); err != nil {
		s.log.ErrorContext(r.Context(), "a page cannot be rendered", "page", p.name, "error", err)
		http.Error(w, "the page cannot be rendered; the server's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	s.write(w, r, b.Bytes())
}

func (s *Site) write(w http.ResponseWriter, r *http.Request, b []byte) {
	if _, err := w.Write(b); err != nil {
		s.log.DebugContext(r.Context(), "an answer broke off", "path", r.URL.Path, "error", err)
	}
}

// failure is what the page of an error shows.
type failure struct {
	Status  int
	Text    string // the status in words
	Message string
	// Again is where to try it again: empty if that is no use, or would do something twice.
	Again string
}

// fail answers with the page of an error.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, message := s.options.Explain(r.Context(), err)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		status, message = http.StatusRequestEntityTooLarge, "the form is larger than 1 MB: publish by the API"
	}
	level := slog.LevelDebug
	if subscriptions.CodeOf(err) == subscriptions.Internal {
		level = slog.LevelError
	}
	s.log.Log(r.Context(), level, "a page failed", "method", r.Method, "path", r.URL.Path, "error", err)
	f := failure{Status: status, Text: http.StatusText(status), Message: message}
	if status >= http.StatusInternalServerError && r.Method == http.MethodGet {
		f.Again = r.URL.RequestURI()
	}
	s.render(w, r, page{title: f.Text, name: "error", status: status, data: f})
}
