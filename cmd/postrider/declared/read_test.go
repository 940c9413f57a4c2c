package declared

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, text string) []Resource {
	t.Helper()
	resources, err := Read("f", strings.NewReader(text), "p")
	if err != nil {
		t.Fatal(err)
	}
	return resources
}

// JSON is YAML, both spellings of names are one, and what aliases and merges bring is there.
func TestFormsOfAFile(t *testing.T) {
	t.Parallel()
	want := fmt.Sprint(read(t, "topics:\n- {name: a, labels: {k: v, l: w}, messageRetentionDuration: 600s}\n")[0].Fields)
	for _, text := range []string{
		`{"topics": [{"name": "a", "labels": {"k": "v", "l": "w"}, "messageRetentionDuration": "600s"}]}`,
		"# comment\n---\n---\ntopics:\n---\ntopics:\n- name: projects/p/topics/a\n  labels: {k: v, l: w}\n  message_retention_duration: 600s\n",
		"topics:\n- &x\n  name: a\n  labels: &l {k: v, l: w}\n  messageRetentionDuration: 600.000s\n- <<: *x\n  name: b\n  labels: {<<: [*l], l: other}\n",
	} {
		resources := read(t, text)
		if got := fmt.Sprint(resources[0].Fields); got != want {
			t.Errorf("%s: %s", text, got)
		}
		if len(resources) > 1 {
			if got := fmt.Sprint(resources[1].Fields); got != strings.NewReplacer("topics/a", "topics/b", "l:w", "l:other").Replace(want) {
				t.Errorf("merged: %s", got)
			}
		}
	}
}

// A small file cannot mean a huge one.
func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("topics:\n- name: a\n  messageTransforms:\n  - &a0 {k: v}\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, "  - &a%d [*a%d, *a%d]\n", i, i-1, i-1)
	}
	for _, text := range []string{
		b.String(),
		"topics:\n- &a\n  name: x\n  ingestionDataSourceSettings: {a: *a}\n",
		"topics:\n- &a\n  <<: *a\n",
		"topics:\n- " + strings.Repeat("{a: ", 200) + strings.Repeat("}", 200),
	} {
		if _, err := Read("f", strings.NewReader(text), "p"); err == nil || len(err.Error()) > 300 {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func TestNamesInOneProject(t *testing.T) {
	t.Parallel()
	r := read(t, "subscriptions: [{name: s, topic: projects/q/topics/t, deadLetterPolicy: {deadLetterTopic: d}}]")[0]
	if r.Name != "projects/p/subscriptions/s" || fmt.Sprint(r.References()) != "[projects/q/topics/t projects/p/topics/d]" {
		t.Errorf("%s, %v", r.Name, r.References())
	}
	r.Shorten("p")
	if got := string(r.JSON()); got != `{"deadLetterPolicy":{"deadLetterTopic":"d"},"name":"s","topic":"projects/q/topics/t"}` {
		t.Error(got)
	}
}

// Answers with fields that this program does not know are not taken for less than they are.
func TestAnswersOfANewerServer(t *testing.T) {
	t.Parallel()
	if _, err := FromServer(Topic, []byte(`{"name": "projects/p/topics/a", "colour": "red"}`)); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("../testdata/declared.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("topics: [{name: a, labels: {a: 1}}]")
	f.Add("topics:\n- &a\n  <<: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		resources, err := Read("f", strings.NewReader(text), "p")
		if err != nil {
			return
		}
		var b strings.Builder
		if err := Write(&b, resources); err != nil {
			t.Fatal(err)
		}
		again, err := Read("f", strings.NewReader(b.String()), "p")
		if err != nil {
			t.Fatalf("%v in %s", err, b.String())
		}
		for _, r := range again {
			if r.At("name") == "" || r.At("labels[\"x\"]") == "" {
				t.Error("no line")
			}
		}
	})
}
