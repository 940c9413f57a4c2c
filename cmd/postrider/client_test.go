package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"postrider"
	"postrider/server/api"
)

func TestTopicCommands(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders", "--label", "team=checkout", "--label", "tier=1")
	c.run("topics", "create", "invoices")
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "orders"}, "topic   projects/demo/topics/orders\nlabels  team=checkout tier=1\nstate   ACTIVE\n"},
		{[]string{"list"}, "TOPIC                         LABELS\n" +
			"projects/demo/topics/invoices  \nprojects/demo/topics/orders    team=checkout tier=1\n"},
		{[]string{"list", "--project", "other"}, "TOPIC  LABELS\n"},
		{[]string{"list", "--project", "other", "-o", "json"}, "[]\n"},
		{[]string{"update", "orders", "--label", "team=payments"}, "topic   projects/demo/topics/orders\nlabels  team=payments\nstate   ACTIVE\n"},
		{[]string{"update", "orders", "--clear-labels"}, "topic  projects/demo/topics/orders\nstate  ACTIVE\n"},
		{[]string{"get", "projects/demo/topics/orders", "--project", "other", "-o", "json"},
			"{\n  \"name\": \"projects/demo/topics/orders\",\n  \"state\": \"ACTIVE\"\n}\n"},
		{[]string{"subscriptions", "orders", "-o", "json"}, "[]\n"},
		{[]string{"delete", "orders"}, "deleted projects/demo/topics/orders\n"},
		{[]string{"delete", "invoices", "-o", "json"}, "{}\n"},
	} {
		got := c.run(append([]string{"topics"}, step.args...)...)
		if squeeze(got) != squeeze(step.want) {
			t.Errorf("topics %s:\n%s\nwant:\n%s", strings.Join(step.args, " "), got, step.want)
		}
	}
}

// squeeze makes runs of spaces one, and drops those at the end of lines.
func squeeze(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

func TestListsAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":  `{"topics": [{"name": "projects/demo/topics/one"}], "nextPageToken": "n"}`,
		"n": `{"topics": [{"name": "projects/demo/topics/two"}]}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(pages[r.URL.Query().Get("pageToken")]))
	}))
	defer s.Close()
	var topics []api.Topic
	decode(t, client(t, s.Listener.Addr().String()).run("topics", "list", "-o", "json"), &topics)
	if len(topics) != 2 || topics[1].Name != "projects/demo/topics/two" {
		t.Errorf("got %+v", topics)
	}
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func TestSubscriptionCommands(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("topics", "create", "orders-dead")
	for _, step := range []struct {
		args string
		want []string
	}{
		{"create billing --topic orders --push-endpoint http://127.0.0.1:1/p --ack-deadline 20s --message-retention-duration 1d " +
			"--expiration-period never --min-retry-delay 1s --max-retry-delay 1m --dead-letter-topic orders-dead " +
			"--max-delivery-attempts 7 --label a=b --enable-message-ordering", []string{
			"topic projects/demo/topics/orders", "delivery push to http://127.0.0.1:1/p", "ack deadline 20s", "retention 1d",
			"expires never", "retry after 1s to 1m", "dead letters to projects/demo/topics/orders-dead after 7 attempts",
			"labels a=b", "order by ordering key", "state ACTIVE"}},
		{"create picky --topic orders --message-filter attributes:a --routing-attribute subject --routing-pattern stock.*.#", []string{
			"filter attributes:a", "routing stock.*.# in subject"}},
		{"update billing --max-retry-delay 10m", []string{"retry after 1s to 10m"}},
		{"update billing --min-retry-delay 2s", []string{"retry after 2s to 10m"}},
		{"update billing --max-delivery-attempts 9", []string{"orders-dead after 9 attempts"}},
		{"update billing --expiration-period 2d", []string{"expires after 2d without use"}},
		{"update billing --ack-deadline 600s --clear-retry-policy", []string{"ack deadline 600s", "retry at once"}},
		{"update billing --push-endpoint http://127.0.0.1:2/p", []string{"delivery push to http://127.0.0.1:2/p"}},
		{"update billing --push-no-wrapper", []string{"delivery push of data to http://127.0.0.1:2/p"}},
		{"update billing --push-no-wrapper --push-no-wrapper-write-metadata", []string{"delivery push of data, with metadata in headers, to http://127.0.0.1:2/p"}},
		{"update billing --push-no-wrapper-write-metadata=false", []string{"delivery push of data to http://127.0.0.1:2/p"}},
		{"update billing --push-no-wrapper=false", []string{"delivery push to http://127.0.0.1:2/p"}},
		{"modify-push-config billing --push-endpoint http://127.0.0.1:3/p", []string{"projects/demo/subscriptions/billing is now pushed to http://127.0.0.1:3/p"}},
		{"modify-push-config billing --pull", []string{"projects/demo/subscriptions/billing is now pulled"}},
		{"get billing", []string{"delivery pull", "dead letters to", "labels a=b", "retention 1d"}},
		{"list", []string{"projects/demo/subscriptions/billing projects/demo/topics/orders pull"}},
		{"detach billing", []string{"detached projects/demo/subscriptions/billing"}},
		{"get billing", []string{"delivery detached"}},
		{"delete billing", []string{"deleted projects/demo/subscriptions/billing"}},
	} {
		got := squeeze(c.run(append([]string{"subscriptions"}, strings.Fields(step.args)...)...))
		for _, want := range step.want {
			if !strings.Contains(got, want) {
				t.Errorf("subscriptions %s: %q is missing in\n%s", step.args, want, got)
			}
		}
	}
}

func TestClearedFieldsAreGone(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--dead-letter-topic", "orders", "--label", "a=b", "--max-retry-delay", "60s")
	var sub api.Subscription
	decode(t, c.run("subscriptions", "update", "billing", "--clear-dead-letter-policy", "--clear-labels", "--clear-retry-policy", "-o", "json"), &sub)
	if sub.DeadLetterPolicy != nil || sub.RetryPolicy != nil || len(sub.Labels) > 0 {
		t.Errorf("got %+v", sub)
	}
}

func TestPublishPullAckNack(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, a *testApp) {
		c := client(t, a.Addr())
		c.run("topics", "create", "orders")
		c.run("subscriptions", "create", "billing", "--topic", "orders")
		ids := strings.Fields(c.run("publish", "orders", "one", "two", "--attribute", "a=x,y", "--attribute", "b=1=2", "--ordering-key", "k"))
		if len(ids) != 2 {
			t.Fatalf("published as %q", ids)
		}

		var got []api.ReceivedMessage
		decode(t, c.run("pull", "billing", "--max", "10", "-o", "json"), &got)
		if len(got) != 2 || string(got[1].Message.Data) != "two" || got[1].Message.MessageID != ids[1] ||
			got[1].Message.Attributes["a"] != "x,y" || got[1].Message.Attributes["b"] != "1=2" || got[1].Message.OrderingKey != "k" {
			t.Fatalf("pulled %+v", got)
		}
		c.run("ack", "billing", got[0].AckID)
		c.run("nack", "billing", got[1].AckID)
		again := c.run("pull", "billing", "--wait")
		if !strings.Contains(again, "two") || strings.Contains(again, "one") || !strings.Contains(again, "ACK ID") {
			t.Fatalf("pulled after an ack and a nack:\n%s", again)
		}
		eventually(t, func() error {
			if s := stats(t, a.store, "billing"); s.Acked != 1 || s.Nacked != 1 || s.Outstanding != 1 {
				return errNotYet
			}
			return nil
		})
	})
}

func TestAutoAckAcknowledgesWhatItPrinted(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	if got := c.run("pull", "billing", "--no-wait", "--auto-ack"); strings.Count(got, "\n") != 1 {
		t.Errorf("pulled from nothing:\n%s", got)
	}
	c.run("publish", "orders", "line\nbreak \x1b[31mred", "--attribute", "k=v")
	got := c.run("pull", "billing", "--auto-ack")
	if !strings.Contains(got, `line\nbreak \u001b[31mred`) || !strings.Contains(got, "k=v") || strings.Contains(got, "ACK ID") {
		t.Errorf("pulled:\n%s", got)
	}
	if s := stats(t, a.store, "billing"); s.Acked != 1 || s.Outstanding != 0 {
		t.Errorf("%+v", s)
	}
}

func TestPublishTakesDataFromFiles(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, []byte{0, 0xff}, 0o600); err != nil {
		t.Fatal(err)
	}
	c.run("publish", "orders", "--file", path)
	if status, _, errors := c.try("from a pipe", "publish", "orders", "--file", "-"); status != 0 {
		t.Fatal(errors)
	}
	c.run("publish", "orders", "--attribute", "only=attributes")
	got := c.run("pull", "billing", "--max", "10", "--auto-ack")
	for _, want := range []string{"(2 bytes) AP8=", "from a pipe", "only=attributes"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// What goes wrong is told in a line, and the exit status says it too.
func TestFailures(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"topics get absent":                                  {1, "NOT_FOUND: projects/demo/topics/absent"},
		"publish absent x":                                   {1, "NOT_FOUND"},
		"ack absent x":                                       {1, "NOT_FOUND"},
		"topics list --server " + gone.URL:                   {1, "is \"postrider serve\" running there?"},
		"topics list --server " + other.URL:                  {1, "404 Not Found, and not as Postrider does"},
		"topics list --server ftp://x":                       {2, "is not a URL such as"},
		"topics list --project a/b":                          {2, "is not a project id"},
		"topics get a/b":                                     {2, "is not of the form projects/PROJECT/topics/ID"},
		"topics create t:publish":                            {2, "must be 3 to 255 characters"},
		"topics create":                                      {2, "topics create TOPIC"},
		"topics update orders":                               {2, "label clear-labels"},
		"subscriptions update billing":                       {2, "nothing to change"},
		"subscriptions create billing":                       {2, "topic"},
		"subscriptions update billing --ack-deadline 1500ms": {2, "whole number of seconds"},
		"subscriptions create s-1 --topic orders --expiration-period x": {2, "never"},
		"publish orders x --attribute novalue":                          {2, "KEY=VALUE"},
		"publish orders x --file y":                                     {2, "exclude each other"},
		"publish orders":                                                {2, "nothing to publish"},
		"publish orders --deliver-at 5m":                                {2, "nothing to publish"},
		"publish orders --file /does/not/exist":                         {1, "/does/not/exist"},
		"pull billing --wait --no-wait":                                 {2, "wait"},
		"topics list -o xml":                                            {2, "table, json"},
		"receive --status 99":                                           {2, "200 to 599"},
		"nonsense":                                                      {2, "nonsense"},
	} {
		status, out, errors := c.try("", strings.Fields(args)...)
		if status != want.status || !strings.Contains(errors, want.says) || out != "" {
			t.Errorf("%s: exit status %d, output %q, error %s", args, status, out, errors)
		}
	}
}

func TestClientEnvironment(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	for name, environ := range map[string][]string{
		"of the emulator": {"PUBSUB_EMULATOR_HOST=" + a.Addr(), "PUBSUB_PROJECT_ID=emulated"},
		"our own":         {"POSTRIDER_SERVER=http://" + a.Addr(), "POSTRIDER_PROJECT=ours", "PUBSUB_EMULATOR_HOST=127.0.0.1:1", "PUBSUB_PROJECT_ID=x"},
	} {
		c := commandLine{t, environ}
		_, project, _ := strings.Cut(environ[1], "=")
		if got := c.run("topics", "create", "orders"); !strings.Contains(got, "projects/"+project+"/topics/orders") {
			t.Errorf("%s: %s", name, got)
		}
	}
	c := commandLine{t, []string{"POSTRIDER_SERVER=http://" + a.Addr(), "POSTRIDER_PROJEKT=x"}}
	if status, _, errors := c.try("", "topics", "list"); status != 2 || !strings.Contains(errors, "POSTRIDER_PROJEKT") {
		t.Errorf("a misspelt variable: exit status %d, %s", status, errors)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	if got := c.run("status"); !strings.HasPrefix(got, "ready\nwarning: nothing survives") {
		t.Error(got)
	}
	var health api.Health
	if decode(t, c.run("status", "-o", "json"), &health); health.Status != "ok" || len(health.Warnings) != 1 {
		t.Errorf("%+v", health)
	}
}

func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	for _, c := range everyCommand(newRoot(process{})) {
		if c.Runnable() && c.Example == "" && !slices.Contains([]string{"help", "completion"}, c.Name()) {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
}

// everyCommand is all the commands below c.
func everyCommand(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		all = append(all, sub)
		all = append(all, everyCommand(sub)...)
	}
	return all
}

func TestVersionAndCompletion(t *testing.T) {
	t.Parallel()
	c := commandLine{T: t}
	if got := c.run("version"); !strings.Contains(got, "postrider") {
		t.Error(got)
	}
	if got := c.run("--version"); got != "postrider "+version()+"\n" {
		t.Error(got)
	}
	if got := c.run("completion", "bash"); !strings.Contains(got, "postrider") {
		t.Error("no completion")
	}
}

// Each property of a subscription that can be set has a flag, or the help says that it has none.
func TestWhatHasNoFlags(t *testing.T) {
	t.Parallel()
	var rules contract
	if err := yaml.Unmarshal(postrider.OpenAPI, &rules); err != nil {
		t.Fatal(err)
	}
	create := commandLine{T: t}.run("subscriptions", "create", "--help")
	for property, inner := range rules.Components.Schemas["SubscriptionExtensions"].Properties {
		if inner.ReadOnly || strings.Contains(withoutFlags, property) && strings.Contains(create, withoutFlags) {
			continue
		}
		flag := map[string]string{"webhookSecrets": "webhook-secret-file", "clientCertificate": "client-certificate", "routing": "routing-pattern", "expiredMessages": "expired-messages"}[property]
		if flag == "" || !strings.Contains(create, "--"+flag+" ") {
			t.Errorf("postrider.%s has no flag, and the help does not say so", property)
		}
	}
}
