package main

import (
	"encoding/json"
	"strings"
	"testing"

	"postrider/server/api"
)

func TestBlockedKeysCommands(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--enable-message-ordering", "--enable-exactly-once-delivery", "--min-retry-delay", "10m")
	if got := squeeze(c.run("subscriptions", "get", "billing")); !strings.Contains(got, "acks exactly once") {
		t.Errorf("get says\n%s", got)
	}
	for _, data := range []string{"a", "b"} {
		c.run("publish", "orders", data, "--ordering-key", "customer-17")
	}
	var got []struct {
		AckID   string
		Message struct{ MessageID string }
	}
	if err := json.Unmarshal([]byte(c.run("pull", "billing", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	c.run("nack", "billing", got[0].AckID)
	if _, _, said := c.try("", "ack", "billing", got[0].AckID, "made-up"); !strings.Contains(said, "made-up: PERMANENT_FAILURE_INVALID_ACK_ID") ||
		!strings.Contains(said, got[0].AckID+": PERMANENT_FAILURE_INVALID_ACK_ID") {
		t.Errorf("ack says %s", said)
	}
	shown := squeeze(c.run("subscriptions", "blocked-keys", "billing"))
	for _, want := range []string{"customer-17 " + got[0].Message.MessageID, "tried again in", "refused by the subscriber"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
	var keys []api.BlockedKey
	decode(t, c.run("subscriptions", "blocked-keys", "billing", "-o", "json"), &keys)
	if len(keys) != 1 || keys[0].Attempts != 1 {
		t.Errorf("blocked: %+v", keys)
	}
	done := c.run("subscriptions", "unblock-key", "billing", "--ordering-key", "customer-17", "--message-id", keys[0].MessageID, "--drop")
	if !strings.Contains(done, "dropped "+keys[0].MessageID) {
		t.Errorf("unblock-key says %s", done)
	}
	decode(t, c.run("subscriptions", "blocked-keys", "billing", "-o", "json"), &keys)
	if len(keys) != 0 {
		t.Errorf("then blocked: %+v", keys)
	}
}
