package web

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"postrider/subscriptions"
)

func TestOverviewAnswersAtTheFirstGlance(t *testing.T) {
	o := survey(nil, testReport("billing", func(r *subscriptions.SubscriptionReport) {
		r.Breaker = subscriptions.Breaker{Open: true, Since: 720e9, Probe: 24e9}
		r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://api.example.com/orders"}
		r.Stats.Undelivered, r.Stats.OldestAge, r.Recent, r.Drains = 12_345, 800e9, []int64{1, 2, 12_345}, -1
		r.Owner = "shop"
	}))
	s := New(&fake{overview: o}, Options{})
	wants(t, shown(t, read(t, s, "/")),
		"Needs attention", "critical billing: the endpoint api.example.com has refused everything for 12 min, breaker open, next probe in 24 s",
		"Subscriptions 1", "Backlog 12,345", "billing", "shop", "orders", "push api.example.com", "12,345", "13 min", "never", "breaker open")
	wants(t, shown(t, read(t, s, "/?q=absent")), "None of the 1 subscription matches “absent”")
}

func TestOverviewOfNothingSaysWhatToDo(t *testing.T) {
	s := New(&fake{overview: subscriptions.Overview{At: now}}, Options{Secure: true})
	wants(t, shown(t, read(t, s, "/")), "Nothing needs attention", "There is no subscription yet",
		"P=https://127.0.0.1:8085/v1/projects/demo", "curl -X PUT $P/topics/orders -d '{}'")
}

func TestEveryAnswerKeepsToItself(t *testing.T) {
	s := New(&fake{overview: survey(nil)}, Options{Explain: explained})
	for _, path := range []string{"/", assetPath("style.css"), "/assets/000000000000/live.js", "/favicon.ico"} {
		h := visit(t, s, "", path, "").Header
		for name, want := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
	}
	if strings.Contains(contentPolicy, "unsafe") || strings.Contains(contentPolicy, "http") {
		t.Error("the policy lets something in")
	}
	if h := visit(t, s, "", "/", "").Header; h.Get("Cache-Control") != "no-store" {
		t.Errorf("a page may be kept: %v", h)
	}
	if h := visit(t, s, "", assetPath("live.js"), "").Header; !strings.Contains(h.Get("Cache-Control"), "immutable") || !strings.HasPrefix(h.Get("Content-Type"), "text/javascript") {
		t.Errorf("a file's headers are %v", h)
	}
	if answer := visit(t, s, "", "/assets/000000000000/live.js", ""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a file of another version is answered %d", answer.StatusCode)
	}
}

func TestRequestsOfOtherPagesAreRefused(t *testing.T) {
	s := New(&fake{overview: survey(nil)}, Options{Explain: explained, KnownHost: func(host string) bool { return host != "evil.example" }})
	if answer := visit(t, s, "", "/", "", "Host", "evil.example"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("an unknown host is answered %d", answer.StatusCode)
	}
	if answer := visit(t, s, "", "/", "", "Sec-Fetch-Site", "cross-site"); answer.StatusCode != http.StatusOK {
		t.Errorf("a link from elsewhere is answered %d", answer.StatusCode)
	}
}

func TestOtherPathsAreTheAPIs(t *testing.T) {
	s := New(&fake{overview: survey(nil)}, Options{})
	for _, c := range []struct{ method, path string }{
		{"GET", "/v1/projects/demo/topics/orders"}, {"GET", "/nothing"}, {"POST", "/"}, {"PUT", "/v1/projects/demo/topics/t-1"},
		{"GET", "/healthz"}, {"GET", "//v1"}, {"GET", "/assets"}, {"DELETE", "/favicon.ico"}, {"POST", "/v1/projects/demo/topics/t-1:publish"},
	} {
		if answer := visit(t, s, c.method, c.path, ""); answer.StatusCode != http.StatusTeapot {
			t.Errorf("%s %s is answered %d", c.method, c.path, answer.StatusCode)
		}
	}
}

func TestFailuresHaveAPage(t *testing.T) {
	s := New(&fake{err: subscriptions.Errorf(subscriptions.Unavailable, "the store <b>cannot</b> be reached")}, Options{Explain: explained})
	answer := visit(t, s, "", "/?q=a&sort=name", "")
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	checkSafe(t, string(body))
	wants(t, shown(t, string(body)), "Service Unavailable", "the store <b>cannot</b> be reached", "Try again", "Back to the overview")
	if !strings.Contains(string(body), `href="/?q=a&amp;sort=name"`) {
		t.Errorf("it is not tried again where it failed: %s", body)
	}
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the status is %d", answer.StatusCode)
	}

	// What is not there, or is a form's, is not offered again.
	for _, gone := range []*http.Response{
		visit(t, New(newDesk(nil), Options{Explain: explained}), "", "/projects/demo/topics/absent", ""),
		visit(t, New(&desk{fake: fake{err: subscriptions.Errorf(subscriptions.Unavailable, "away")}}, Options{Explain: explained}), "POST", ordersPath+"/dead-letters/review", "what=purge-all"),
	} {
		body, err := io.ReadAll(gone.Body)
		if err != nil {
			t.Fatal(err)
		}
		if gone.StatusCode < 400 || strings.Contains(string(body), "Try again") {
			t.Errorf("status %d: %s", gone.StatusCode, body)
		}
	}
}
