package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postrider/server/api"
)

func TestCloseBreakerCommand(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", "http://127.0.0.1:9/")
	if got := c.run("subscriptions", "close-breaker", "billing"); !strings.Contains(got, "billing was closed already") {
		t.Errorf("it says %s", got)
	}
	var answer api.CloseBreakerResponse
	decode(t, c.run("subscriptions", "close-breaker", "billing", "-o", "json"), &answer)
	if answer.WasOpen {
		t.Error("it was open")
	}
}

func TestExplainCommand(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", "http://127.0.0.1:9/")
	if got := c.run("subscriptions", "explain", "billing"); !strings.Contains(got, "there is nothing to push") {
		t.Errorf("it says %s", got)
	}
	if got := c.run("explain", "billing"); !strings.Contains(got, "there is nothing to push") {
		t.Errorf("it says %s", got)
	}
	var answer api.ExplainResponse
	decode(t, c.run("subscriptions", "explain", "billing", "-o", "json"), &answer)
	if answer.Summary == "" {
		t.Errorf("it answers %+v", answer)
	}
}

// What the server that pushes says is there, whatever server is asked.
func TestExplainTellsOfRefusals(t *testing.T) {
	t.Parallel()
	refused := make(chan struct{}, 1000)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "100")
		http.Error(w, "out of\tpaper", http.StatusServiceUnavailable)
		refused <- struct{}{}
	}))
	defer endpoint.Close()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", endpoint.URL)
	c.run("publish", "orders", "hello")
	<-refused
	var answer api.ExplainResponse
	for answer.Push == nil || len(answer.Push.LastErrors) == 0 { // its outcome is known a moment later
		decode(t, c.run("explain", "billing", "-o", "json"), &answer)
	}
	got := c.run("explain", "billing")
	for _, want := range []string{"the endpoint asked for it with Retry-After", "with the endpoint: 0 of at most", "503 Service Unavailable", ": out of paper (attempt 1) of message"} {
		if !strings.Contains(got, want) {
			t.Errorf("it says %s\nwithout %q", got, want)
		}
	}
}
