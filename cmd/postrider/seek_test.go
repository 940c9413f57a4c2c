package main

import (
	"encoding/json"
	"strings"
	"testing"

	"postrider/server/api"
)

func TestSnapshotAndSeekCommands(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders", "--message-retention-duration", "1h")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--retain-acked-messages")
	c.run("publish", "orders", "one")
	has := func(got string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("%q is missing in:\n%s", word, got)
			}
		}
	}
	has(c.run("topics", "get", "orders"), "retention", "1h")
	has(c.run("subscriptions", "get", "billing"), "7d, acknowledged messages too; all messages of the topic 1h")
	has(c.run("snapshots", "create", "early", "--subscription", "billing", "--label", "a=b"), "projects/demo/snapshots/early", "projects/demo/topics/orders", "a=b", "expires")
	has(c.run("snapshots", "list"), "SNAPSHOT", "projects/demo/snapshots/early")
	has(c.run("snapshots", "get", "early"), "a=b")
	has(c.run("snapshots", "update", "early", "--clear-labels"), "early")
	has(c.run("seek", "billing", "--time", "2100-01-01T00:00:00Z", "--validate-only"), "0 messages would come again, and 1 not any more")
	var done api.SeekUndoablyResponse
	if err := json.Unmarshal([]byte(c.run("seek", "billing", "--time", "2100-01-01T00:00:00Z", "-o", "json")), &done); err != nil || done.UndoSnapshot == "" {
		t.Fatalf("sought: %+v, %v", done, err)
	}
	has(c.run("seek", "billing", "--snapshot", done.UndoSnapshot, "--without-undo"), "sought projects/demo/subscriptions/billing")
	has(c.run("seek", "billing", "--time", "1h", "--validate-only"), "0 messages would come again, and 0 not any more")
	has(c.run("seek", "billing", "--time", "1h", "--validate-only", "-o", "json"), `"unackedMessages": "0"`, `"ackedMessages": "0"`)
	has(c.run("seek", "billing", "--snapshot", "early"), "to undo it: postrider seek")
	has(c.run("snapshots", "delete", "early"), "deleted projects/demo/snapshots/early")
	has(c.run("topics", "update", "orders", "--clear-message-retention-duration"), "ACTIVE")
}
