package main

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"postrider/server/api"
)

// Each format holds the same, and none is like another.
func TestOutputFormats(t *testing.T) {
	t.Parallel()
	topics := []api.Topic{{Name: "projects/demo/topics/a", Labels: map[string]string{"n": "1", "yes": "null"}}, {Name: "b: c"}}
	row := func(topic api.Topic) []string { return []string{topic.Name} }
	for format, want := range map[string]string{
		outputTable: "NAME\nprojects/demo/topics/a\nb: c\n",
		outputJSON: `[
  {
    "labels": {
      "n": "1",
      "yes": "null"
    },
    "name": "projects/demo/topics/a"
  },
  {
    "name": "b: c"
  }
]
`,
		outputYAML: `- labels:
    n: "1"
    yes: "null"
  name: projects/demo/topics/a
- name: 'b: c'
`,
	} {
		var out strings.Builder
		if err := list(printer{&out, format}, topics, []string{"NAME"}, row); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, out.String(), want)
		}
		var got []api.Topic
		if format != outputTable {
			if err := yaml.Unmarshal([]byte(out.String()), &got); err != nil || len(got) != 2 || got[0].Labels["yes"] != "null" {
				t.Errorf("%s reads as %+v, %v", format, got, err)
			}
		}
	}
}

func TestStreamedMessages(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		outputTable: "one\ntwo\n",
		outputJSON:  "{\"messageId\":\"one\"}\n{\"messageId\":\"two\"}\n",
		outputYAML:  "---\nmessageId: one\n---\nmessageId: two\n",
	} {
		var out strings.Builder
		p := printer{&out, format}
		for _, id := range []string{"one", "two"} {
			if err := p.next(api.PubsubMessage{MessageID: id}, func() error { return p.line("%s", id) }); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, out.String(), want)
		}
	}
}

func TestNothingIsListedAsNothing(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{outputTable: "A  B\n", outputJSON: "[]\n", outputYAML: "[]\n"} {
		var out strings.Builder
		if err := list(printer{&out, format}, nil, []string{"A", "B"}, func(api.Topic) []string { return nil }); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", format, out.String(), err)
		}
	}
}

// A command that has results has them for programs, too.
func TestEveryCommandHasFormats(t *testing.T) {
	t.Parallel()
	others := regexp.MustCompile("^postrider (serve|demo|bench.*|receive|completion.*|help)$")
	for _, c := range everyCommand(newRoot(process{})) {
		if c.Runnable() && !others.MatchString(c.CommandPath()) && c.Flags().Lookup("output") == nil {
			t.Errorf("%s has no --output", c.CommandPath())
		}
	}
}

// A large backup is checked for long: it shows how far it is, and can be stopped.
func TestCheckingABackupCanBeStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interruption{syscall.SIGINT})
	file, err := os.Open("print_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := checkBackup(ctx, process{err: io.Discard}, file); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRoughDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 474697 * time.Nanosecond: "0s", 156069190 * time.Nanosecond: "156ms", 3847 * time.Millisecond: "4s",
		90 * time.Second: "1m30s", 2*time.Hour - time.Second: "2h", 47*time.Hour + 59*time.Second: "47h1m",
		582*time.Hour + 55*time.Minute: "24d 7h", 72*time.Hour - time.Second: "3d", 72*time.Hour + 29*time.Minute: "3d",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
