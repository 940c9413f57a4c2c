package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"postrider"
	"postrider/pusher/proof/prooftest"
)

// everyField is a file with all fields.
const everyField = "testdata/declared.yaml"

// schema is what of openapi.yaml says which fields there are.
type schema struct {
	Ref        string            `yaml:"$ref"`
	ReadOnly   bool              `yaml:"readOnly"`
	Status     string            `yaml:"x-postrider-status"`
	Properties map[string]schema `yaml:"properties"`
	Items      *schema           `yaml:"items"`
}

type contract struct {
	Components struct {
		Schemas map[string]schema `yaml:"schemas"`
	} `yaml:"components"`
}

// settable lists the paths of all fields of a schema that can be set, those of objects by what is in them.
func (c contract) settable(s schema, path string) (paths []string) {
	if s.Ref != "" {
		named := c.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		named.ReadOnly, named.Status = named.ReadOnly || s.ReadOnly, named.Status+s.Status
		s = named
	}
	switch {
	case s.ReadOnly, s.Status != "", path == "detached": // Google does not say of this one that the server sets it
		return nil
	case s.Items != nil:
		return c.settable(*s.Items, path)
	case len(s.Properties) == 0:
		return []string{path}
	}
	for name, property := range s.Properties {
		paths = append(paths, c.settable(property, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return paths
}

// given adds the paths of all values, as settable names them.
func given(value any, path string, paths map[string]bool) {
	paths[path] = true
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			given(inner, strings.TrimPrefix(path+"."+name, "."), paths)
		}
	case []any:
		for _, inner := range v {
			given(inner, path, paths)
		}
	}
}

// What the contract has and neither the test's file nor the export has would get lost: a field that is new to openapi.yaml
// belongs into the file, and is carried from there on.
func TestDeclaredFieldsAreAll(t *testing.T) {
	t.Parallel()
	c := declaringServer(t)
	c.run("apply", "-f", everyField)
	var rules contract
	if err := yaml.Unmarshal(postrider.OpenAPI, &rules); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(everyField)
	if err != nil {
		t.Fatal(err)
	}
	for from, documents := range map[string]string{everyField: string(text), "the export": c.run("export")} {
		for list, name := range map[string]string{"topics": "Topic", "subscriptions": "Subscription"} {
			there := map[string]bool{}
			for _, document := range strings.Split(documents, "\n---\n") {
				var resources map[string]any
				if err := yaml.Unmarshal([]byte(document), &resources); err != nil {
					t.Fatal(err)
				}
				given(resources[list], "", there)
			}
			for _, path := range rules.settable(rules.Components.Schemas[name], "") {
				if secret := path == "postrider.webhookSecrets.secret"; !there[path] && !(secret && from != everyField) {
					t.Errorf("%s has no %s of a %s", from, path, name)
				}
			}
		}
	}
}

// declaringServer is a server that takes all of everyField.
func declaringServer(t *testing.T) commandLine {
	t.Helper()
	dir := t.TempDir()
	prooftest.NewAuthority(t).Write(dir, "mtls")
	return client(t, startApp(t, func(c *Config) { c.ClientCertificates = dir }).Addr())
}

func TestExportAndApplyRoundTrip(t *testing.T) {
	t.Parallel()
	c, other := declaringServer(t), declaringServer(t)
	if got := c.run("apply", "-f", everyField, "--validate-only"); !strings.HasSuffix(got, "5 to create, 0 to update, 0 unchanged\n") {
		t.Error(got)
	}
	if got := c.run("export", "-o", "json"); squeeze(got) != "{\n\"topics\": [],\n\"subscriptions\": []\n}\n" {
		t.Errorf("only validated, there is %s", got)
	}
	c.run("apply", "-f", everyField)
	for _, format := range []string{outputYAML, outputJSON} {
		exported := c.run("export", "-o", format)
		status, out, errors := c.try(exported, "apply", "-f", "-", "--validate-only", "--exit-code")
		if status != 0 || errors != "" || !strings.HasSuffix(out, "0 to create, 0 to update, 5 unchanged\n") {
			t.Errorf("%s: exit status %d, %s\n%s", format, status, errors, out)
		}
	}
	other.run("apply", "-f", everyField)
	first := c.run("export")
	if again := c.run("apply", "-f", everyField); !strings.HasSuffix(again, "0 created, 0 updated, 5 unchanged\n") {
		t.Errorf("applied again:\n%s", again)
	}
	if second := other.run("export"); second != first || c.run("export") != first {
		t.Errorf("one exports\n%s\nthe other\n%s", first, second)
	}
	if strings.Contains(first, "whsec_") || strings.Contains(c.run("apply", "-f", everyField), "whsec_") {
		t.Error("a secret is shown")
	}
}

func TestExportToAnotherProject(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--dead-letter-topic", "orders")
	short := c.run("export", "--short-names")
	if status, _, errors := c.try(short, "apply", "-f", "-", "--project", "other"); status != 0 {
		t.Fatal(errors)
	}
	if got := c.run("export", "--short-names", "--project", "other"); got != short || strings.Contains(got, "projects/") {
		t.Errorf("exported\n%s\nthen\n%s", short, got)
	}
	both := c.run("export") + "---\n" + c.run("export", "--project", "other")
	if status, out, errors := c.try(both, "apply", "-f", "-", "--project", "third"); status != 0 || !strings.HasSuffix(out, "4 unchanged\n") {
		t.Errorf("two projects in one file: %s%s", out, errors)
	}
}

// What cannot be created again is left out, and told.
func TestExportLeavesOut(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	for _, id := range []string{"orders", "gone"} {
		c.run("topics", "create", id)
	}
	c.run("subscriptions", "create", "detached", "--topic", "orders")
	c.run("subscriptions", "create", "orphan", "--topic", "gone")
	file := c.run("export")
	c.run("subscriptions", "detach", "detached")
	c.run("topics", "delete", "gone")
	status, out, errors := c.try("", "export")
	if status != 0 || strings.Contains(out, "detached") || strings.Contains(out, "orphan") || strings.Count(errors, "is left out") != 2 {
		t.Errorf("%s%s", out, errors)
	}
	status, out, errors = c.try(file, "apply", "-f", "-")
	if status != exitUsage || out != "" || !strings.Contains(errors, "detached: is detached") || !strings.Contains(errors, "orphan: its topic was deleted") {
		t.Errorf("applied: exit status %d, %s%s", status, out, errors)
	}
}

// recording is a server in front of another that keeps what it is sent.
func recording(t *testing.T, c commandLine) (in commandLine, requests func() []string) {
	t.Helper()
	_, address, _ := strings.Cut(c.environ[0], "=")
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.Method != http.MethodGet {
			mu.Lock()
			var update struct{ UpdateMask string }
			_ = json.Unmarshal(body, &update)
			all = append(all, strings.TrimSpace(r.Method+" "+r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]+" "+update.UpdateMask))
			mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return client(t, s.Listener.Addr().String()), func() []string {
		mu.Lock()
		defer mu.Unlock()
		sent := all
		all = nil
		return sent
	}
}

func TestApplySendsWhatDiffersInOrder(t *testing.T) {
	t.Parallel()
	c, requests := recording(t, declaringServer(t))
	text, err := os.ReadFile(everyField)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file.yaml")
	apply := func(old, replacement string, want ...string) {
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("%q is not in the file", old)
		}
		text = bytes.Replace(text, []byte(old), []byte(replacement), 1)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out := c.run("apply", "-f", file, "--validate-only"); len(requests()) > 0 {
			t.Errorf("validated:\n%s", out)
		}
		out := c.run("apply", "-f", file)
		if got := requests(); !slices.Equal(got, want) {
			t.Errorf("%s -> %s: sent %q, want %q\n%s", old, replacement, got, want, out)
		}
		if out := c.run("apply", "-f", file); len(requests()) > 0 {
			t.Errorf("%s -> %s: applied again:\n%s", old, replacement, out)
		}
	}
	apply("topics:", "topics:", "PUT orders-dead", "PUT orders", "PUT pushed", "PUT wrapped", "PUT pulled")
	apply("tier: \"1\"", "tier: \"2\"", "PATCH orders labels")
	apply("    messageRetentionDuration: 86400s\n", "", "PATCH orders messageRetentionDuration")
	apply("ackDeadlineSeconds: 30", "ackDeadlineSeconds: 10", "PATCH pushed ackDeadlineSeconds")
	apply("    ackDeadlineSeconds: 10\n", "") // the default
	apply("maxPerSecond: 0.5", "maxPerSecond: 1", "PATCH pushed postrider.pushLimits")
	apply("        - secret: whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "", "PATCH pushed postrider.webhookSecrets")
	apply("secret: whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB\n          ", "") // its fingerprint alone stays
	apply("      maxDeliveryAttempts: 7\n", "", "PATCH pushed deadLetterPolicy")
	apply("1.500s", "2s", "PATCH pushed retryPolicy", "PATCH wrapped retryPolicy")
	apply("    expirationPolicy: {}\n", "    expirationPolicy:\n", "PATCH pushed expirationPolicy")
	// A subscription that was push keeps the attribute of pushes, which is no difference.
	apply("    pushConfig:\n      pushEndpoint: http://127.0.0.1:1/orders\n      pubsubWrapper: {}\n", "", "PATCH wrapped pushConfig")
	apply("enableExactlyOnceDelivery: true", "pushConfig: {pushEndpoint: 'http://127.0.0.1:1'}",
		"PATCH pulled enableExactlyOnceDelivery,pushConfig")
}

// Mistakes are told all at once, each with its line, and nothing is done.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	c, requests := recording(t, declaringServer(t))
	c.run("apply", "-f", everyField)
	requests()
	for file, want := range map[string][]string{
		"topics:\n- name: new\n- name: x\n":                      {"input:6: projects/demo/topics/x: ", "3 to 255"},
		"topics:\n- name: orders\n  lables: {}\n":                {"input:6: lables: unknown field"},
		"topics:\n- labels: {a: b}\n":                            {"input:5: the topic has no name"},
		"topics:\n- name: orders\n  labels:\n    a: 1\n":         {"input:7: labels[\"a\"]: expected a string"},
		"topics:\n- name: orders\n  labels:\n    A: b\n":         {"input:6: projects/demo/topics/orders: labels: the key \"A\""},
		"topics:\n- name: orders\n  kmsKeyName: k\n":             {"input:6: ", "kmsKeyName: this server does not support"},
		"topics:\n- name: orders\n- name: orders\n":              {"input:6: projects/demo/topics/orders is declared already, at standard input:5"},
		"topics:\n- name: orders\n  name: other\n":               {"input:6: name stands there twice, first in line 5"},
		"topics: {name: orders}\n":                               {"input:4: topics: expected a list"},
		"topic: []\n":                                            {"input:4: \"topic\" is not known here"},
		"- name: orders\n":                                       {"input:4: expected \"topics:\""},
		"topics: [\n":                                            {"standard input: yaml: line 4"},
		"topics:\n- name: projects/demo/subscriptions/a\n":       {"input:5: ", "is not of the form projects/PROJECT/topics/ID"},
		"subscriptions:\n- {name: new, topic: absent}\n":         {"input:5: ", "topics/absent does not exist"},
		"subscriptions:\n- name: new\n  ackDeadlineSeconds: 5\n": {"input:5: projects/demo/subscriptions/new: topic: "},
		"subscriptions:\n- name: a\n  ackDeadlineSeconds: 6x\n":  {"input:6: ackDeadlineSeconds: expected"},
		"subscriptions:\n- name: new\n  topic: orders\n  retryPolicy:\n    minimumBackoff: 700s\n": {
			"input:8: projects/demo/subscriptions/new: retryPolicy.minimumBackoff: 11m40s is out of range"},
		"subscriptions:\n- name: pulled\n  topic: orders-dead\n  filter: attributes:a\n  labels: {x: y}\n": {
			"input:6: projects/demo/subscriptions/pulled: topic cannot be changed after creation (it is projects/demo/topics/orders there, and projects/demo/topics/orders-dead here)",
			"input:7: projects/demo/subscriptions/pulled: filter cannot be changed after creation (it is (none) there, and attributes:a here)"},
		"subscriptions:\n- name: wrapped\n  topic: orders\n  postrider:\n    routing: {attribute: a, pattern: b}\n": {
			"input:8: ", "postrider.routing cannot be changed"},
		"subscriptions:\n- name: wrapped\n  topic: orders\n  postrider:\n    webhookSecrets:\n    - fingerprint: sha256:0123456789abcdef\n": {
			"input:9: ", "no secret with the fingerprint"},
		"topics:\n- &a\n  name: orders\n  labels: {a: *a}\n": {"input:", "aliases"},
	} {
		status, out, errors := c.try("# a comment\ntopics: []\n---\n"+file, "apply", "-f", "-")
		if status != exitUsage || out != "" || len(requests()) > 0 {
			t.Errorf("%s: exit status %d, %s", file, status, out)
		}
		for _, text := range want {
			if !strings.Contains(errors, text) {
				t.Errorf("%s: %q is missing in %s", file, text, errors)
			}
		}
	}
	for args, want := range map[string]string{
		"apply":                    "file",
		"apply -f /does/not/exist": "/does/not/exist",
		"apply -f " + everyField + " --exit-code": "--validate-only",
	} {
		if status, _, errors := c.try("", strings.Fields(args)...); status != exitUsage || !strings.Contains(errors, want) {
			t.Errorf("%s: exit status %d, %s", args, status, errors)
		}
	}
}

// One run tells all that can be known, of the form and of the rules, and nothing that is wrong only because something else is.
func TestApplyTellsAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	c, requests := recording(t, declaringServer(t))
	c.run("apply", "-f", everyField)
	requests()
	const file = `topics:
- name: orders
  lables: {}
- {name: twice, labels: {a: b, a: c}}
- {name: new, messageRetentionDuration: 1s, kmsKeyName: k, labels: {A: b}}
- name: bad/name
subscriptions:
- name: many
  topic: twice
  ackDeadlineSeconds: 5
  messageRetentionDuration: 90d
  filter: nonsense
  retryPolicy: {minimumBackoff: 700s}
  deadLetterPolicy: {deadLetterTopic: absent, maxDeliveryAttempts: 3}
  expirationPolicy: {ttl: 1s}
  bigqueryConfig: {table: t}
  enableExactlyOnceDelivery: true
  pushConfig: {pushEndpoint: nonsense}
  postrider: {routing: {attribute: a}, pushLimits: {maxPerSecond: -1}, terminalAnswers: {statuses: [9]}}
- {name: topicless, ackDeadlineSeconds: 5}
- {name: wrong-topic, topic: 7, ackDeadlineSeconds: 5}
- {name: absent-too, topic: absent}
- name: pulled
  topic: new
  filter: attributes:a
  ackDeadlineSeconds: 5
- name: wrapped
  topic: orders
  filter: attributes:a
- {name: wrapped, topic: orders}
- {name: needs-policy, topic: orders, postrider: {expiredMessages: DEAD_LETTER}, deadLetterPolicy: {deadLetterTopic: orders, maxDeliveryAttempts: 3}}
- {name: needs-it-too, topic: orders, postrider: {terminalAnswers: {header: x}}, deadLetterPolicy: {deadLetterTopik: orders}}
`
	want := map[string][]string{
		"3":  {"lables: unknown field"},
		"4":  {"a stands there twice"},
		"5":  {"messageRetentionDuration: 1s is out of range", "kmsKeyName: this server", `labels: the key "A"`},
		"6":  {"is not of the form"},
		"10": {"ackDeadlineSeconds: 5s is out of range"},
		"11": {"messageRetentionDuration: expected a duration"},
		"12": {"filter: "},
		"13": {"retryPolicy.minimumBackoff: 11m40s"},
		"14": {"deadLetterPolicy.deadLetterTopic: projects/demo/topics/absent does not exist", "deadLetterPolicy.maxDeliveryAttempts: 3"},
		"15": {"expirationPolicy.ttl: 1s"},
		"16": {"bigqueryConfig: this server"},
		"17": {"enableExactlyOnceDelivery: only a pull"},
		"18": {"pushConfig.pushEndpoint: must be"},
		"19": {"postrider.routing", "postrider.pushLimits", "postrider.terminalAnswers"},
		"20": {"topic: ", "ackDeadlineSeconds: 5s"},
		"21": {"topic: expected a string", "ackDeadlineSeconds: 5s"},
		"22": {"topic: projects/demo/topics/absent does not exist"},
		"24": {"topic cannot be changed"},
		"25": {"filter cannot be changed"},
		"26": {"ackDeadlineSeconds: 5s"},
		"29": {"filter cannot be changed"},
		"30": {"is declared already, at standard input:27"},
		"31": {"deadLetterPolicy.maxDeliveryAttempts: 3"},
		"32": {"deadLetterPolicy.deadLetterTopik: unknown field"},
	}
	for _, args := range [][]string{{"apply", "-f", "-"}, {"apply", "-f", "-", "--validate-only"}} {
		status, out, errors := c.try(file, args...)
		if status != exitUsage || out != "" || len(requests()) > 0 {
			t.Errorf("exit status %d, %s", status, out)
		}
		told := map[string][]string{}
		for line := range strings.Lines(strings.TrimPrefix(errors, "postrider: ")) {
			number, text, _ := strings.Cut(strings.TrimPrefix(line, "standard input:"), ":")
			told[number] = append(told[number], text)
		}
		for number, texts := range want {
			if len(told[number]) != len(texts) {
				t.Errorf("of line %s is told %q, want %q", number, told[number], texts)
			}
			for _, text := range texts {
				if !strings.Contains(strings.Join(told[number], ""), text) {
					t.Errorf("of line %s is told %q, without %q", number, told[number], text)
				}
			}
			delete(told, number)
		}
		if len(told) > 0 {
			t.Errorf("beside this is told %q", told)
		}
	}

	// A topic that is not there is one mistake, also of a subscription that has another.
	if _, _, errors := c.try("subscriptions: [{name: wrapped, topic: absent}]", "apply", "-f", "-"); strings.Count(errors, "\n") != 1 {
		t.Error(errors)
	}
	// What may stand where the files cannot be read is not said to be missing, and a server that is not there hides no mistake.
	if _, _, errors := c.try("subscriptions: [{name: new, topic: unread}]\n---\ntopics: [", "apply", "-f", "-"); strings.Contains(errors, "unread") {
		t.Error(errors)
	}
	status, _, errors := c.try(file, "apply", "-f", "-", "--server", "127.0.0.1:1")
	if status != exitUsage || !strings.Contains(errors, "lables") || !strings.Contains(errors, "cannot reach") {
		t.Errorf("exit status %d, %s", status, errors)
	}
}

func TestApplyTellsForPrograms(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	const before = "topics: [{name: orders, labels: {a: b}}, {name: same}]\n"
	const after = "topics: [{name: orders, labels: {a: c}, state: ACTIVE, tags: {x: y}}, {name: same}, {name: new}]\n"
	var steps []appliedStep
	if status, out, errors := c.try(before, "apply", "-f", "-", "-o", "json"); status != 0 || errors != "" {
		t.Fatal(out, errors)
	}
	status, out, errors := c.try(after, "apply", "-f", "-", "-o", "json", "--validate-only", "--exit-code")
	if status != exitChanges || strings.Count(errors, "has no effect") != 2 {
		t.Errorf("exit status %d, %s", status, errors)
	}
	decode(t, out, &steps)
	if got := fmt.Sprint(steps); got != "[{projects/demo/topics/orders update [{labels.a b c}] } {projects/demo/topics/same unchanged [] } {projects/demo/topics/new create [] }]" {
		t.Error(got)
	}
}

// What fails half way says how far it came, and can be applied again.
func TestApplyStopsAtAFailure(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	const file = "topics: [{name: orders}]\nsubscriptions:\n- {name: one, topic: orders}\n" +
		"- name: two\n  topic: orders\n  pushConfig: {pushEndpoint: 'https://192.168.0.1/'}\n- {name: three, topic: orders}\n"
	status, out, errors := c.try(file, "apply", "-f", "-")
	if status != exitFailure || !strings.HasSuffix(out, "2 created, 0 updated, 0 unchanged\n") ||
		!strings.Contains(errors, "input:6: projects/demo/subscriptions/two: pushConfig.pushEndpoint") || !strings.Contains(errors, "2 steps of 4") {
		t.Errorf("exit status %d, %s\n%s", status, out, errors)
	}
	mended := strings.Replace(file, "192.168.0.1", "127.0.0.1", 1)
	if status, out, _ := c.try(mended, "apply", "-f", "-"); status != 0 || !strings.HasSuffix(out, "2 created, 0 updated, 2 unchanged\n") {
		t.Errorf("exit status %d, %s", status, out)
	}
}

// A dead-letter topic that is gone does not keep a file from naming another.
func TestApplyMendsWhatIsBroken(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	for _, id := range []string{"orders", "dead", "other"} {
		c.run("topics", "create", id)
	}
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--dead-letter-topic", "dead", "--push-endpoint", "http://127.0.0.1:1/")
	c.run("topics", "delete", "dead")
	file := "subscriptions: [{name: billing, topic: orders, deadLetterPolicy: {deadLetterTopic: dead}, pushConfig: {pushEndpoint: 'http://127.0.0.1:1/'}}]"
	if status, _, errors := c.try(file, "apply", "-f", "-"); status != exitUsage || !strings.Contains(errors, "topics/dead does not exist") {
		t.Errorf("exit status %d, %s", status, errors)
	}
	file = strings.Replace(file, "Topic: dead", "Topic: other", 1)
	if status, out, errors := c.try(file, "apply", "-f", "-"); status != 0 || !strings.Contains(out, "topics/dead -> projects/demo/topics/other") {
		t.Errorf("exit status %d, %s%s", status, out, errors)
	}
}

// Ctrl-C ends between two steps, and what was done is told.
func TestInterruptedApply(t *testing.T) {
	t.Parallel()
	behind := client(t, startApp(t, nil).Addr())
	c, requests := recording(t, behind)
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &cancelling{cancel: cancel}
	p := process{in: strings.NewReader("topics: [{name: one}, {name: two}]"), out: out, err: io.Discard, environ: c.environ}
	if status := execute(ctx, p, []string{"apply", "-f", "-"}); status != 130 {
		t.Errorf("exit status %d", status)
	}
	if sent := requests(); len(sent) != 1 || !strings.Contains(out.String(), "1 created, 0 updated") {
		t.Errorf("sent %q, printed\n%s", sent, out.String())
	}
}

// cancelling is an output that interrupts when something was created.
type cancelling struct {
	bytes.Buffer
	cancel context.CancelCauseFunc
}

func (c *cancelling) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("created")) {
		c.cancel(interruption{syscall.SIGINT})
	}
	return c.Buffer.Write(b)
}
