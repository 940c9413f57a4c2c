package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postrider/server/api"
)

// TestDelayedSurvivesKill: what is not due is kept when the server is killed, and comes from the next one, not before it is due.
func TestDelayedSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	server, addr := startServer(t, "--data-dir", dir)
	c := client(t, addr)
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	published := time.Now()
	id := strings.TrimSpace(c.run("publish", "orders", "later", "--deliver-at", "4s"))
	server.signal(os.Kill)
	server.wait()
	_, addr = startServer(t, "--data-dir", dir)
	c = client(t, addr)
	var got []api.ReceivedMessage
	for len(got) == 0 {
		decode(t, c.run("pull", "billing", "--wait", "-o", "json"), &got)
	}
	if after := time.Since(published); after < 4*time.Second {
		t.Errorf("it came after %v", after)
	}
	if m := got[0].Message; m.MessageID != id || string(m.Data) != "later" {
		t.Errorf("published %s, got %+v", id, m)
	}
}

func TestDelayedCommands(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, app *testApp) {
		c := client(t, app.Addr())
		c.run("topics", "create", "orders")
		c.run("topics", "create", "dead")
		c.run("subscriptions", "create", "billing", "--topic", "orders", "--dead-letter-topic", "dead", "--expired-messages", "dead-letter")
		if got := squeeze(c.run("subscriptions", "get", "billing")); !strings.Contains(got, "expired messages dead letters, too") {
			t.Errorf("get says\n%s", got)
		}
		first := strings.TrimSpace(c.run("publish", "orders", "a", "--deliver-at", "2h", "--ttl", "1m30s", "--attribute", "k=v"))
		second := strings.TrimSpace(c.run("publish", "orders", "b", "--deliver-at", time.Now().Add(time.Hour).Format(time.RFC3339)))
		var list []api.DelayedMessage
		decode(t, c.run("topics", "delayed", "orders", "-o", "json"), &list)
		if len(list) != 2 || list[0].MessageID != second || list[1].Attributes["postrider-deliver-at"] != "7200s" ||
			list[1].Attributes["postrider-ttl"] != "90s" || list[1].Attributes["k"] != "v" {
			t.Errorf("delayed: %+v", list)
		}
		if got := c.run("topics", "delayed", "orders"); !strings.Contains(got, "in 2h") && !strings.Contains(got, "in 1h59m") {
			t.Errorf("delayed says\n%s", got)
		}
		if got := c.run("topics", "cancel-delayed", "orders", first); !strings.Contains(got, "dropped "+first) {
			t.Errorf("cancel-delayed says %s", got)
		}
		if status, _, said := c.try("", "topics", "cancel-delayed", "orders", first, second); status == 0 || !strings.Contains(said, first) || strings.Contains(said, second) {
			t.Errorf("cancel-delayed says %s", said)
		}
		c.run("publish", "orders", "now", "--deliver-at", "0s")
		if got := c.run("pull", "billing"); !strings.Contains(got, "now") {
			t.Errorf("pull says %s", got)
		}
		if status, _, said := c.try("", "publish", "orders", "x", "--deliver-at", "soon"); status == 0 || !strings.Contains(said, "RFC") && !strings.Contains(said, "2030-01-31T12:00:00Z") {
			t.Errorf("publish says %s", said)
		}
		c.run("subscriptions", "update", "billing", "--expired-messages", "drop")
		if got := squeeze(c.run("subscriptions", "get", "billing")); strings.Contains(got, "expired messages") {
			t.Errorf("get says\n%s", got)
		}
	})
}
