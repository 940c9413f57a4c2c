package web

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"postrider/subscriptions"
)

// changing is a backend whose overview is changed while somebody looks.
type changing struct {
	Backend
	mu      sync.Mutex
	reports []subscriptions.SubscriptionReport
	err     error
}

func (c *changing) Overview(context.Context) (subscriptions.Overview, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return survey(nil, c.reports...), c.err
}

func (c *changing) Expiring(context.Context) ([]subscriptions.Subscription, error) { return nil, nil }

func (c *changing) set(err error, reports ...subscriptions.SubscriptionReport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports, c.err = reports, err
}

// follower reads a stream.
type follower struct {
	*testing.T
	lines *bufio.Scanner
}

// follow opens a stream of a site; the site is served until the test ends.
func follow(t *testing.T, address, path string) (*http.Response, *follower) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", eventStream)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return answer, &follower{t, lines}
}

// next is the next event and its data.
func (f *follower) next() (event, data string) {
	f.Helper()
	for f.lines.Scan() {
		line := f.lines.Text()
		if text, ok := strings.CutPrefix(line, "event: "); ok {
			event = text
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data = text
		}
		if line == "" && event != "" {
			return event, data
		}
	}
	f.Fatalf("the stream ended: %v", f.lines.Err())
	return "", ""
}

func (f *follower) parts() map[string]string {
	f.Helper()
	event, data := f.next()
	var parts map[string]string
	if err := json.Unmarshal([]byte(data), &parts); err != nil || event != "parts" {
		f.Fatalf("%s %s: %v", event, data, err)
	}
	return parts
}

func serveSite(t *testing.T, s *Site) string {
	t.Helper()
	server := httptest.NewServer(s.Beside(elsewhere))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(s.Drain)
	return server.URL
}

func TestStreamsSendWhatChanged(t *testing.T) {
	c := &changing{}
	c.set(nil, testReport("billing", nil))
	s := New(c, Options{Every: time.Millisecond, Explain: explained})
	answer, f := follow(t, serveSite(t, s), "/?q=billing")
	if answer.Header.Get("Content-Type") != eventStream || answer.Header.Get("Vary") != "Accept" {
		t.Errorf("got %v", answer.Header)
	}
	if first := f.parts(); len(first) != 5 || !strings.Contains(first["overview-table"], "billing") {
		t.Errorf("the first event has %v", first)
	}
	c.set(nil, testReport("billing", nil), testReport("shipping", nil))
	changed := f.parts()
	// The totals have one more, and the table says how many it is of.
	if _, ok := changed["overview-totals"]; !ok || changed["overview-attention"] != "" {
		t.Errorf("changed are %v", changed)
	}
	c.set(subscriptions.Errorf(subscriptions.Unavailable, "no\nstore"))
	if event, data := f.next(); event != "trouble" || !strings.Contains(data, "no store") {
		t.Errorf("got %s %s", event, data)
	}
	c.set(nil, testReport("billing-2", nil))
	if changed := f.parts(); !strings.Contains(changed["overview-table"], "billing-2") {
		t.Errorf("changed are %v", changed)
	}
	s.Drain()
	if event, _ := f.next(); event != "bye" {
		t.Errorf("the stream ended with %s", event)
	}
}

// What was in the page, and is gone when its stream begins, is taken out of it.
func TestStreamsBeginWithEveryPart(t *testing.T) {
	d := newDesk(nil) // with no message, no chart and nothing blocked
	_, f := follow(t, serveSite(t, New(d, Options{Explain: explained})), billingPath)
	first := f.parts()
	for _, part := range []string{"subscription-state", "subscription-charts", "subscription-blocked", "subscription-messages", "subscription-settings"} {
		if html, there := first[part]; !there || (strings.TrimSpace(html) == "") != (part == "subscription-blocked" || part == "subscription-messages") {
			t.Errorf("%s begins as %q, %v", part, html, there)
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	c := &changing{}
	s := New(c, Options{Streams: 1, Every: time.Millisecond})
	address := serveSite(t, s)
	first, f := follow(t, address, "/")
	f.parts()
	if second, _ := follow(t, address, "/"); second.StatusCode != http.StatusServiceUnavailable || second.Header.Get("Retry-After") == "" {
		t.Errorf("a second stream is answered %d", second.StatusCode)
	}
	_ = first.Body.Close() // its reader has gone
	for {
		again, _ := follow(t, address, "/")
		if again.StatusCode == http.StatusOK {
			return
		}
		_ = again.Body.Close()
	}
}
