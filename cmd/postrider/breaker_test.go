package main

import (
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
	var answer api.ExplainResponse
	decode(t, c.run("subscriptions", "explain", "billing", "-o", "json"), &answer)
	if answer.Summary == "" {
		t.Errorf("it answers %+v", answer)
	}
}
