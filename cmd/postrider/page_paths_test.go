package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/storage/redistest"
)

// askFor asks a server for a path, with pairs of headers.
func askFor(t *testing.T, a *testApp, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Host = r.Header.Get("Host")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// The page takes nothing from the API: what is not its own is answered as ever.
func TestPageIsBesideTheAPI(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	for path, want := range map[string]string{
		"/": "text/html", "/operations": "text/html", "/projects/demo/topics/absent": "text/html",
		"/nothing": "application/json", "/v1/projects/demo/topics/absent": "application/json", "/projects": "application/json",
		"/healthz": "application/json", "/openapi.yaml": "application/yaml",
	} {
		answer, body := askFor(t, a, path)
		if !strings.HasPrefix(answer.Header.Get("Content-Type"), want) {
			t.Errorf("%s is answered %s: %s", path, answer.Header.Get("Content-Type"), body)
		}
	}
	if answer, _ := askFor(t, a, "/", "Host", "evil.example"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a name that is not ours is answered %d", answer.StatusCode)
	}
}

// A page that is looked at does not keep a server from stopping, and its stream ends with a word.
func TestPageStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, len("event: parts"))
	if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "event: parts" {
		t.Fatalf("the stream begins with %q: %v", first, err)
	}
	a.stop()
	rest, err := io.ReadAll(answer.Body)
	if err != nil || !strings.HasSuffix(string(rest), "event: bye\ndata: \n\n") {
		t.Errorf("the stream ends with %q: %v", rest[max(0, len(rest)-50):], err)
	}
}

// However many look at the page, Redis is asked how it is a few times a second: for the page, and for the figures on it.
func TestManyReadersAskRedisNoMore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = redis.URL() })
	before, began := redis.CommandCalls(t), time.Now()
	const views = 400
	var readers errgroup.Group
	readers.SetLimit(20)
	for range views {
		readers.Go(func() error {
			answer, err := http.Get(a.URL() + "/")
			if err != nil {
				return err
			}
			return answer.Body.Close()
		})
	}
	if err := readers.Wait(); err != nil {
		t.Fatal(err)
	}
	seconds := int(time.Since(began)/time.Second) + 1
	if n := redis.CommandCalls(t).Since(before)["info"]; n > int64(2*(seconds+1)) {
		t.Errorf("%d views within %d s cost %d INFO", views, seconds, n)
	}
}
