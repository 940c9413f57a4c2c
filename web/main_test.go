package web

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"postrider/subscriptions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a backend that answers what the test says.
type fake struct {
	Backend
	overview subscriptions.Overview
	err      error
}

func (f *fake) Overview(context.Context) (subscriptions.Overview, error) { return f.overview, f.err }

func (f *fake) Expiring(context.Context) ([]subscriptions.Subscription, error) { return nil, nil }

var now = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

func topicOf(id string) subscriptions.TopicName {
	return subscriptions.TopicName{Project: "demo", ID: id}
}

func subscriptionOf(id string) subscriptions.SubscriptionName {
	return subscriptions.SubscriptionName{Project: "demo", ID: id}
}

// testReport is a measured pull subscription of topic orders.
func testReport(id string, change func(*subscriptions.SubscriptionReport)) subscriptions.SubscriptionReport {
	r := subscriptions.SubscriptionReport{
		Subscription: subscriptions.Subscription{
			Name: subscriptionOf(id), Topic: topicOf("orders"), Retention: subscriptions.DefaultRetention,
			Expiration: subscriptions.DefaultExpiration, AckDeadline: 10 * time.Second,
		},
		Measured: now, Recent: []int64{0, 0},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// survey is an overview of subscriptions, with topic orders and those that are given.
func survey(topics []subscriptions.TopicReport, reports ...subscriptions.SubscriptionReport) subscriptions.Overview {
	topics = append([]subscriptions.TopicReport{{Topic: subscriptions.Topic{Name: topicOf("orders")}}}, topics...)
	return subscriptions.Overview{At: now, Servers: []string{"a"}, Topics: topics, Subscriptions: reports}
}

// explained is the status of an error, as package server finds it.
func explained(_ context.Context, err error) (int, string) {
	status := map[subscriptions.Code]int{
		subscriptions.NotFound: http.StatusNotFound, subscriptions.InvalidArgument: http.StatusBadRequest,
		subscriptions.PermissionDenied: http.StatusForbidden, subscriptions.Unavailable: http.StatusServiceUnavailable,
		subscriptions.FailedPrecondition: http.StatusBadRequest, subscriptions.Aborted: http.StatusConflict,
	}[subscriptions.CodeOf(err)]
	return cmp.Or(status, http.StatusInternalServerError), err.Error()
}

// elsewhere answers what is not the page's.
var elsewhere = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

// visit asks a site for something. Without a method it is GET.
func visit(t *testing.T, s *Site, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(cmp.Or(method, http.MethodGet), "http://127.0.0.1:8085"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	w := httptest.NewRecorder()
	s.Beside(elsewhere).ServeHTTP(w, r)
	return w.Result()
}

// read is a page as text, checked to be safe.
func read(t *testing.T, s *Site, path string) string {
	t.Helper()
	answer := visit(t, s, "", path, "")
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, answer.StatusCode, body)
	}
	checkSafe(t, string(body))
	return string(body)
}

// parsed is a page as a browser has it.
func parsed(t *testing.T, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// checkSafe parses a page as a browser does, and finds what could run, load or send anything that is not ours.
func checkSafe(t *testing.T, page string) {
	t.Helper()
	for n := range parsed(t, page).Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "iframe", "object", "embed", "base", "style", "frame", "applet":
			t.Errorf("there is an element %s", n.Data)
		case "script":
			if n.FirstChild != nil {
				t.Errorf("there is a script %q", n.FirstChild.Data)
			}
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("an element %s has %s=%q", n.Data, a.Key, a.Val)
			}
			switch a.Key {
			case "href", "src", "action", "formaction", "srcset":
				if !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "?") || strings.HasPrefix(a.Val, "//") {
					t.Errorf("an element %s leads to %q", n.Data, a.Val)
				}
			}
		}
	}
}

// inline are elements that do not begin a word.
var inline = map[string]bool{"a": true, "time": true, "span": true, "svg": true, "polyline": true}

// shown is the text of a page, with its spaces made single.
func shown(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	for n := range parsed(t, page).Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		} else if !inline[n.Data] {
			b.WriteString(" ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// wants checks that a text has others in it, in this order.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		_, after, found := strings.Cut(rest, p)
		if !found {
			t.Errorf("%q is missing, or not in its place, in\n%s", p, text)
			return
		}
		rest = after
	}
}
