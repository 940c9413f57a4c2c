package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"postrider/server/api"
)

// die makes dead letters of what is published, and waits until they are.
func (c commandLine) die(topic, sub string, texts ...string) {
	c.Helper()
	c.run(append([]string{"publish", topic}, texts...)...)
	for range 5 {
		var got []api.ReceivedMessage
		decode(c.T, c.run("pull", sub, "--max", "100", "-o", "json"), &got)
		ids := []string{"nack", sub}
		for _, m := range got {
			ids = append(ids, m.AckID)
		}
		c.run(ids...)
	}
	for began := time.Now(); ; {
		var letters []api.DeadLetter
		decode(c.T, c.run("dead-letters", "list", sub, "-o", "json"), &letters)
		if len(letters) >= len(texts) {
			return
		}
		if time.Since(began) > time.Minute {
			c.Fatalf("after a minute there are %d dead letters", len(letters))
		}
	}
}

func TestDeadLetterCommands(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("topics", "create", "orders-dead", "--label", "owner=payments")
	c.run("subscriptions", "create", "graves", "--topic", "orders-dead")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--dead-letter-topic", "orders-dead")
	c.run("publish", "orders", "peeked")
	if got := squeeze(c.run("peek", "billing")); !strings.Contains(got, "new 0 peeked") {
		t.Errorf("peek says\n%s", got)
	}
	var pulled []api.ReceivedMessage
	decode(t, c.run("pull", "billing", "-o", "json"), &pulled)
	c.run("ack", "billing", pulled[0].AckID)
	c.die("orders", "billing", "apple", "pear", "plum")
	shown := squeeze(c.run("dlq", "list", "billing", "--text", "APPLE"))
	for _, want := range []string{"billing", "payments", "graves", "apple", "refused by the subscriber"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
	var letters []api.DeadLetter
	decode(t, c.run("dlq", "list", "--topic", "orders-dead", "-o", "json"), &letters)
	one := squeeze(c.run("dead-letters", "show", "billing", letters[1].Message.MessageID))
	for _, want := range []string{"data pear", "came from billing", "owner payments", letters[1].Origin.MessageID, "attempt 5"} {
		if !strings.Contains(one, want) {
			t.Errorf("%q is missing in\n%s", want, one)
		}
	}
	if got := c.run("dlq", "redrive", "billing", "--validate-only"); !strings.Contains(got, "3 dead letters") {
		t.Errorf("a dry run says %s", got)
	}
	if got := c.run("dlq", "redrive", "billing", letters[0].Message.MessageID); !strings.Contains(got, "redrove 1 dead letter") {
		t.Errorf("redrive says %s", got)
	}
	decode(t, c.run("pull", "billing", "-o", "json"), &pulled)
	if len(pulled) != 1 || string(pulled[0].Message.Data) != "apple" || pulled[0].Message.MessageID != letters[0].Origin.MessageID || pulled[0].DeliveryAttempt != 1 {
		t.Errorf("then came %+v", pulled)
	}
	if status, _, said := c.try("", "dlq", "purge", "billing"); status != exitUsage || !strings.Contains(said, "2 dead letters") || !strings.Contains(said, "--yes") {
		t.Errorf("purge says %s (%d)", said, status)
	}
	if got := c.run("dlq", "purge", "billing", "--yes"); !strings.Contains(got, "dropped 2 dead letters") {
		t.Errorf("purge says %s", got)
	}
	if got := c.run("dlq", "purge", "billing"); got != "0 dead letters\n" { // nothing to confirm
		t.Errorf("purge says %s", got)
	}
	decode(t, c.run("dlq", "list", "billing", "-o", "json"), &letters)
	if len(letters) != 0 {
		t.Errorf("left: %+v", letters)
	}
	var ops []api.Operation
	decode(t, c.run("operations", "list", "-o", "json"), &ops)
	if len(ops) != 2 || !ops[0].Done || ops[0].Metadata.Kind != api.OperationKindPurge {
		t.Errorf("operations: %+v", ops)
	}
	if got := c.run("operations", "cancel", strings.TrimPrefix(ops[0].Name, "projects/demo/operations/")); !strings.Contains(got, "had ended already") {
		t.Errorf("cancel says %s", got)
	}
	c.refusesLetters(t)
}

func (c commandLine) refusesLetters(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"dlq", "list"}, {"dlq", "show", "--topic", "orders-dead"}, {"dlq", "list", "billing", "--max", "-1"}, {"operations", "wait", "x/y"}} {
		if status, _, said := c.try("", args...); status != exitUsage {
			t.Errorf("%v ends with %d: %s", args, status, said)
		}
	}
}

// What redriving must hold, over REST, on every store: of three subscriptions only the one that it came from gets a dead letter
// again, with the id that it had, and all attempts each time.
func TestRedriveTwice(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, a *testApp) {
		c := client(t, a.Addr())
		c.run("topics", "create", "orders")
		c.run("topics", "create", "orders-dead")
		c.run("subscriptions", "create", "graves", "--topic", "orders-dead")
		for _, id := range []string{"first", "second", "third"} {
			c.run("subscriptions", "create", id, "--topic", "orders", "--dead-letter-topic", "orders-dead")
		}
		pull := func(sub string) (got []api.ReceivedMessage) {
			decode(t, c.run("pull", sub, "--max", "10", "--no-wait", "-o", "json"), &got)
			return got
		}
		id := strings.TrimSpace(c.run("publish", "orders", "hello"))
		for _, other := range []string{"first", "third"} {
			c.run("ack", other, pull(other)[0].AckID)
		}
		for times := range 3 {
			for attempt := 1; attempt <= 5; attempt++ {
				got := pull("second")
				if len(got) != 1 || got[0].Message.MessageID != id || int(got[0].DeliveryAttempt) != attempt || string(got[0].Message.Data) != "hello" {
					t.Fatalf("redriven %d times, attempt %d is %+v", times, attempt, got)
				}
				c.run("nack", "second", got[0].AckID)
			}
			eventually(t, func() error {
				var letters []api.DeadLetter
				decode(t, c.run("dlq", "list", "second", "-o", "json"), &letters)
				if len(letters) != 1 || int(letters[0].Origin.RedrivenCount) != times || stats(t, a.store, "second").Outstanding > 0 {
					return fmt.Errorf("redriven %d times, the dead letters are %+v", times, letters)
				}
				return nil
			})
			if said := c.run("dlq", "redrive", "second"); !strings.Contains(said, "redrove 1 dead letter") {
				t.Fatalf("redrive says %s", said)
			}
			for _, other := range []string{"first", "third", "graves"} {
				if got := pull(other); len(got) > 0 {
					t.Fatalf("%s got %+v", other, got)
				}
			}
		}
	})
}

// Ids that are not there are told, whatever is done with the others; and what the server says of fields is said of flags.
func TestDeadLettersThatAreNotThere(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("topics", "create", "orders-dead")
	c.run("subscriptions", "create", "graves", "--topic", "orders-dead")
	for _, id := range []string{"billing", "other"} {
		c.run("subscriptions", "create", id, "--topic", "orders", "--dead-letter-topic", "orders-dead")
	}
	c.die("orders", "billing", "apple")
	var letters []api.DeadLetter
	decode(t, c.run("dlq", "list", "billing", "-o", "json"), &letters)
	id, gone := letters[0].Message.MessageID, "1767225900000-7"
	refuses := func(does string, wants []string, args ...string) {
		t.Helper()
		status, out, said := c.try("", args...)
		if status != 1 || !strings.Contains(out, does) || does == "" && out != "" {
			t.Errorf("%v ends with %d and prints %q", args, status, out)
		}
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%v says %q, want %q", args, said, want)
			}
		}
	}
	refuses("", []string{"not found: " + gone}, "dlq", "redrive", "billing", gone)
	refuses("", []string{"not found: " + id}, "dlq", "redrive", "other", id)
	refuses("", []string{"not found: " + gone}, "dlq", "purge", "billing", gone, "--yes")
	refuses("1 dead letter", []string{"not found: " + gone + ";"}, "dlq", "redrive", "billing", gone, id, "--validate-only")
	refuses("redrove 1 dead letter", []string{"not found: " + gone + ";"}, "dlq", "redrive", "billing", gone, id)
	refuses("", []string{"say --topic orders-dead"}, "dlq", "list", "orders-dead")
	refuses("", []string{"say --topic orders-dead"}, "dlq", "redrive", "orders-dead")
	if _, _, said := c.try("", "dlq", "list", "nothing"); !strings.Contains(said, "does not exist") || strings.Contains(said, "--topic") {
		t.Errorf("of nothing it says %q", said)
	}
	c.run("subscriptions", "create", "graves2", "--topic", "orders-dead")
	refuses("", []string{"--from: required", "subscriptions/graves2"}, "dlq", "redrive", "billing")
}
