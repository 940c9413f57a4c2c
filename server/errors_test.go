package server_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"postrider/server"
	"postrider/subscriptions"
)

var update = flag.Bool("update", false, "write testdata/errors again")

// Whoever refuses a request, the router, the decoder, a guard or the domain, its answer has the one shape; testdata/errors
// shows each.
func TestErrorBodies(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"pushConfig": {"pushEndpoint": "https://example.com"}}`)
	for name, c := range map[string]struct{ request, body, header string }{
		"no_such_path":        {request: "GET /v1/nowhere"},
		"no_such_verb":        {request: "POST p/topics/orders:burn", body: "{}"},
		"method_not_allowed":  {request: "POST p/topics/orders", body: "{}"},
		"too_large":           {request: "POST p/topics/orders:publish", body: strings.Repeat(" ", server.DefaultMaxBody+1)},
		"broken_json":         {request: "POST p/topics/orders:publish", body: `{"messages": [{]}`},
		"truncated_json":      {request: "POST p/topics/orders:publish", body: `{"messages": [`},
		"trailing_json":       {request: "POST p/topics/orders:publish", body: `{} {}`},
		"invalid_utf8":        {request: "POST p/topics/orders:publish", body: "{\"messages\": [{\"orderingKey\": \"\xff\"}]}"},
		"unknown_field":       {request: "POST p/topics/orders:publish", body: `{"messages": [{"data": "aGk=", "date": 1}]}`},
		"wrong_case":          {request: "PUT p/topics/other", body: `{"Labels": {}}`},
		"repeated_field":      {request: "PUT p/topics/other", body: `{"labels": {}, "labels": {}}`},
		"wrong_type":          {request: "POST p/subscriptions/billing:pull", body: `{"maxMessages": "many"}`},
		"bad_base64":          {request: "POST p/topics/orders:publish", body: `{"messages": [{"data": "*"}]}`},
		"bad_duration":        {request: "PATCH p/subscriptions/billing", body: `{"subscription": {"messageRetentionDuration": "10m"}, "updateMask": "messageRetentionDuration"}`},
		"bad_enum":            {request: "PUT p/topics/other", body: `{"schemaSettings": {"encoding": "XML"}}`},
		"two_wrappers":        {request: "POST p/subscriptions/billing:modifyPushConfig", body: `{"pushConfig": {"noWrapper": {}, "pubsubWrapper": {}}}`},
		"null_body":           {request: "PUT p/topics/other", body: `null`},
		"array_body":          {request: "PUT p/topics/other", body: `[]`},
		"empty_body":          {request: "PUT p/topics/other"},
		"bad_query":           {request: "GET p/topics?pageSize=ten"},
		"broken_query":        {request: "GET p/topics?pageToken=%zz"},
		"semicolon_query":     {request: "PATCH p/topics/orders?updateMask=labels;x", body: `{}`},
		"encoded_body":        {request: "POST p/topics/orders:publish", body: "\x1f\x8b\b", header: "Content-Encoding: gzip"},
		"bad_mask":            {request: "PATCH p/topics/orders?updateMask=a..b", body: `{}`},
		"bad_id":              {request: "GET p/topics/ab"},
		"bad_project":         {request: "GET -p/topics"},
		"not_found":           {request: "GET p/topics/missing"},
		"already_exists":      {request: "PUT p/topics/orders", body: `{}`},
		"failed_precondition": {request: "POST p/subscriptions/billing:pull", body: `{"maxMessages": 1}`},
		"unbuilt_field":       {request: "PUT p/topics/other", body: `{"kmsKeyName": "k"}`},
		"unserved_method":     {request: "POST p/schemas/s:commit", body: `{}`},
		"cross_origin":        {request: "PUT p/topics/other", body: `{}`, header: "Origin: https://attacker.example"},
		"unknown_host":        {request: "GET p/topics", header: "Host: attacker.example"},
	} {
		answer := s.doWith(c.header, c.request, c.body)
		answer.failure()
		golden(t, name, answer.body)
	}
	s.do("GET p/topics").is(`{"topics": [{"name": "projects/p/topics/orders", "state": "ACTIVE"}]}`)
}

func golden(t *testing.T, name, body string) {
	t.Helper()
	file := filepath.Join("testdata", "errors", name+".json")
	if *update {
		if err := os.WriteFile(file, []byte(body+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(want)) != body {
		t.Errorf("%s (%v):\ngot  %s\nwant %s", name, err, body, want)
	}
}

func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	for request, allow := range map[string]string{
		"POST p/topics/orders":               "DELETE, GET, PATCH, PUT",
		"OPTIONS p/subscriptions/billing":    "DELETE, GET, PATCH, PUT",
		"PUT p/topics":                       "GET",
		"BREW p/topics":                      "GET",
		"DELETE p/topics/orders/snapshots":   "GET",
		"PUT p/schemas":                      "GET, POST",
		"POST /healthz":                      "GET",
		"POST p/topics/orders%3Apublish":     "DELETE, GET, PATCH, PUT", // an encoded colon starts no verb
		"POST p/topics/orders/subscriptions": "GET",
	} {
		answer := s.do(request)
		answer.fails(http.StatusMethodNotAllowed, "UNIMPLEMENTED")
		if got := answer.header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow is %q, want %q", request, got, allow)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	for request, status := range map[string]int{
		"HEAD /healthz": 200, "HEAD p/topics/orders": 200, "HEAD p/topics/missing": 404, "HEAD p/topics/orders:publish": 405, "HEAD /nowhere": 404,
	} {
		if got := s.do(request).status; got != status {
			t.Errorf("%s: %d, want %d", request, got, status)
		}
	}
}

// A body that does not say how long it is is cut off while it is read.
func TestTooLargeWithoutLength(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.handler = server.New(s.service, server.Options{MaxBody: 1000})
	s.withTopic()
	for size, status := range map[int]int{1000: 200, 1001: 413} {
		frame := `{"messages":[{"attributes":{"k":""}}]}`
		body := strings.Replace(frame, `""`, `"`+strings.Repeat("v", size-len(frame))+`"`, 1)
		r := httptest.NewRequest("POST", "http://localhost/v1/projects/"+topicPath+":publish", struct{ *strings.Reader }{strings.NewReader(body)})
		r.ContentLength = -1
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%d bytes: %d %s, want %d", size, w.Code, w.Body, status)
		}
		if status == 413 && w.Header().Get("Connection") != "close" {
			t.Error("the connection stays open in front of a body that nobody reads")
		}
	}
}

// What a caller sent comes back in messages, but not at any length.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	name := strings.Repeat("é", 100_000)
	for _, answer := range []answer{
		s.do("PUT "+topicPath, encode(fields{name: 1})),
		s.do("GET /" + name),
		s.do("GET p/topics?pageSize=" + name),
		s.do("GET p/topics?pageToken=" + name),
		s.doWith("Host: "+name, "GET p/topics"),
	} {
		if told := answer.failure(); len(answer.body) > 4000 {
			t.Errorf("%.20s: an answer of %d bytes: %.200s", answer.request, len(answer.body), told["message"])
		}
	}
}

// A body that ends before it should is the caller's fault, if there is still a caller.
func TestBodyEndsEarly(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	r := httptest.NewRequest("PUT", "http://localhost/v1/projects/"+topicPath, iotest.ErrReader(io.ErrUnexpectedEOF))
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	answer{t, "PUT", w.Code, w.Header(), w.Body.String()}.invalid("ended early")
}

// What fails because the caller has gone is no internal error.
func TestCallerHasGone(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	h := server.New(failing{fail: func() error { leave(); return ctx.Err() }}, server.Options{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/projects/p/topics/orders", nil).WithContext(ctx))
	answer{t, "GET", w.Code, w.Header(), w.Body.String()}.fails(499, "CANCELLED")
}

// failing is a backend whose GetTopic fails, or worse.
type failing struct {
	server.Backend
	fail func() error
}

func (f failing) GetTopic(context.Context, subscriptions.TopicName) (subscriptions.Topic, error) {
	return subscriptions.Topic{}, f.fail()
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	full := subscriptions.WrapError(errors.New("secret"), subscriptions.ResourceExhausted, "the store is full")
	full.RetryAfter = 1500 * time.Millisecond
	for _, c := range []struct {
		err        error
		status     int
		code       string
		retryAfter string
	}{
		{full, 429, "RESOURCE_EXHAUSTED", "2"},
		{subscriptions.Errorf(subscriptions.InvalidArgument, "x"), 400, "INVALID_ARGUMENT", ""},
		{subscriptions.Errorf(subscriptions.FailedPrecondition, "x"), 400, "FAILED_PRECONDITION", ""},
		{subscriptions.Errorf(subscriptions.PermissionDenied, "x"), 403, "PERMISSION_DENIED", ""},
		{subscriptions.Errorf(subscriptions.NotFound, "x"), 404, "NOT_FOUND", ""},
		{subscriptions.Errorf(subscriptions.AlreadyExists, "x"), 409, "ALREADY_EXISTS", ""},
		{subscriptions.Errorf(subscriptions.Aborted, "x"), 409, "ABORTED", ""},
		{subscriptions.Errorf(subscriptions.Canceled, "x"), 499, "CANCELLED", ""},
		{subscriptions.Errorf(subscriptions.Internal, "x"), 500, "INTERNAL", ""},
		{subscriptions.Errorf(subscriptions.Unimplemented, "x"), 501, "UNIMPLEMENTED", ""},
		{subscriptions.WrapError(errors.New("secret"), subscriptions.Unavailable, "x"), 503, "UNAVAILABLE", ""},
		{subscriptions.Errorf(subscriptions.DeadlineExceeded, "x"), 504, "DEADLINE_EXCEEDED", ""},
		{subscriptions.Errorf("NEW_CODE", "x"), 500, "NEW_CODE", ""},
		{errors.New("secret"), 500, "INTERNAL", ""},
	} {
		s := rest{t: t, handler: server.New(failing{fail: func() error { return c.err }}, server.Options{})}
		answer := s.do("GET p/topics/orders")
		answer.fails(c.status, c.code)
		if got := answer.header.Get("Retry-After"); got != c.retryAfter || strings.Contains(answer.body, "secret") {
			t.Errorf("%v: Retry-After %q, %s", c.err, got, answer.body)
		}
	}
}

// A panic is an internal error, told whole to the log and not to the caller.
func TestPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := rest{t: t, handler: server.New(failing{fail: func() error { panic("secret") }}, server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})}
	answer := s.do("GET p/topics/orders?key=hidden")
	answer.fails(http.StatusInternalServerError, "INTERNAL", "internal error")
	if strings.Contains(answer.body, "secret") || !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "errors_test.go") {
		t.Errorf("answered %s, logged %s", answer.body, &log)
	}
}

// bomb is a response that blows up once its header is out.
type bomb struct{ *httptest.ResponseRecorder }

func (bomb) Write([]byte) (int, error) { panic("secret") }

// Where half an answer is out, the connection is broken off, so that nobody takes it for whole.
func TestAbort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail func() error
		w    http.ResponseWriter
	}{
		"an abort on purpose":       {func() error { panic(http.ErrAbortHandler) }, httptest.NewRecorder()},
		"a panic in half an answer": {func() error { return nil }, bomb{httptest.NewRecorder()}},
	} {
		func() {
			defer func() {
				if v := recover(); v != http.ErrAbortHandler {
					t.Errorf("%s: %v was passed on", name, v)
				}
			}()
			server.New(failing{fail: c.fail}, server.Options{}).ServeHTTP(c.w, httptest.NewRequest("GET", "http://localhost/v1/projects/p/topics/orders", nil))
		}()
	}
}

// gone is a client that takes the header of an answer and no more.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// An answer that cannot be written is nobody's failure, and no second answer follows it.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newREST(t)
	h := server.New(s.service, server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for request, status := range map[string]int{"/v1/projects/p/topics": 200, "/v1/projects/p/topics/missing": 404} {
		w := gone{httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+request, nil))
		if w.Code != status || log.Len() > 0 {
			t.Errorf("%s: status %d, logged %s", request, w.Code, &log)
		}
	}
}

// The request log holds no query, where keys and tokens are.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newREST(t)
	s.handler = server.New(s.service, server.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	s.doWith("Authorization: Bearer hidden", "GET p/topics/missing?key=hidden&access_token=hidden", "")
	for _, want := range []string{"method=GET", "path=/v1/projects/p/topics/missing", "status=404", "NOT_FOUND"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
	if strings.Contains(log.String(), "hidden") {
		t.Errorf("the log holds a secret: %s", &log)
	}
}
