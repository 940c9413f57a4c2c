package declared

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, text string) []Resource {
	t.Helper()
	d := declarations(text)
	if len(d.Wrong) > 0 {
		t.Fatal(d.Wrong)
	}
	return d.Resources
}

func declarations(text string) (d Declarations) {
	d.Read("f", strings.NewReader(text), "p")
	d.Unique()
	return d
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
		if err := errors.Join(declarations(text).Wrong...); err == nil || len(err.Error()) > 300 {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// All that is wrong of the form is told, and what is right is read all the same.
func TestMistakesOfFormAreAllTold(t *testing.T) {
	t.Parallel()
	d := declarations(`topics:
- name: a
  lables: {}
  messageRetentionDuration: 1x
  labels: {a: 1, b: c}
- name: twice
  labels: {a: b, a: c}
- labels: {x: y}
- 7
subscriptions:
- name: s
  topic: a
  ackDeadlineSeconds: ten
  retryPolicy: {minimumBackoff: 1, maximumBackof: 2s}
  postrider: {routing: {attribute: [1]}, expiredMessages: DROP}
  pushConfig: {attributes: {a: [1, 2]}}
- name: [s]
- name: s
`)
	var lines []string
	for _, err := range d.Wrong {
		line, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "f:"), ":")
		lines = append(lines, line)
	}
	slices.Sort(lines)
	if got := strings.Join(lines, " "); got != "13 14 14 15 16 17 18 3 4 5 7 8 9" || !d.Partial {
		t.Errorf("lines %s, partial %v:\n%v", got, d.Partial, errors.Join(d.Wrong...))
	}
	var read []string
	for _, r := range d.Resources {
		read = append(read, fmt.Sprint(shortest(r.Name), " ", r.Broken, " ", string(r.JSON())))
	}
	want := []string{
		`a false {"name":"projects/p/topics/a"}`, `twice true {"name":"projects/p/topics/twice"}`,
		`s false {"name":"projects/p/subscriptions/s","postrider":{"expiredMessages":"DROP"},"topic":"projects/p/topics/a"}`,
	}
	if !slices.Equal(read, want) {
		t.Errorf("read\n%s", strings.Join(read, "\n"))
	}
}

func shortest(name string) string { return name[strings.LastIndex(name, "/")+1:] }

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
		d := declarations(text)
		for _, r := range d.Resources {
			if r.Name == "" || r.At("name") == "" {
				t.Error("neither name nor line")
			}
		}
		if len(d.Wrong) > 0 {
			return
		}
		var b strings.Builder
		if err := Write(&b, d.Resources); err != nil {
			t.Fatal(err)
		}
		again := declarations(b.String())
		if len(again.Wrong) > 0 {
			t.Fatalf("%v in %s", again.Wrong, b.String())
		}
		for _, r := range again.Resources {
			if r.At("name") == "" || r.At("labels[\"x\"]") == "" {
				t.Error("no line")
			}
		}
	})
}
