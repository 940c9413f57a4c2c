package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is called wrongly says what to do.
func TestMistakesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"subscriptions create billing":                                          "see postrider subscriptions create --help",
		"subscriptions create billing --topic orders --max-delivery-attempts 7": "--dead-letter-topic",
		"subscriptions modify-push-config billing":                              "see postrider subscriptions modify-push-config --help",
		"subscriptions update b --clear-labels --label a=b":                     "see postrider subscriptions update --help",
		"subscriptions create billing --topik t":                                "see postrider subscriptions create --help",
		"no-such-command":                                                       "see postrider --help",
		"subscriptions create billing --topic t --max-delivery-attempts plenty": "see postrider subscriptions create --help",
	} {
		status, out, errors := commandLine{T: t}.try("", strings.Fields(line)...)
		if status != exitUsage || out != "" || !strings.Contains(errors, says) || strings.Count(errors, "--help") > 1 {
			t.Errorf("%s: exit status %d, %s%s", line, status, out, errors)
		}
	}
}

// Every flag of create either changes a subscription, or is refused by update with what to do in its place.
func TestUpdateSaysWhatCannotBeChanged(t *testing.T) {
	t.Parallel()
	root := newRoot(process{})
	create, _, _ := root.Find([]string{"subscriptions", "create"})
	update, _, _ := root.Find([]string{"subscriptions", "update"})
	fixed := map[string]bool{}
	for _, f := range fixedFlags {
		fixed[f.flag] = true
	}
	create.Flags().VisitAll(func(f *pflag.Flag) {
		twin := update.Flags().Lookup(f.Name)
		if twin == nil || twin.Hidden != fixed[f.Name] {
			t.Errorf("update does not know what to do about --%s", f.Name)
		}
		if !fixed[f.Name] {
			return
		}
		value := "x"
		if f.Value.Type() == "bool" {
			value = "false"
		}
		status, out, errors := commandLine{T: t}.try("", "subscriptions", "update", "billing", "--ack-deadline", "20s", "--"+f.Name+"="+value)
		if status != exitUsage || out != "" || !strings.Contains(errors, "--"+f.Name+": ") ||
			!strings.Contains(errors, "cannot be changed") || !strings.Contains(errors, "Create another") {
			t.Errorf("--%s: exit status %d, %s%s", f.Name, status, out, errors)
		}
	})
	if help := (commandLine{T: t}).run("subscriptions", "update", "--help"); strings.Contains(help, "--topic TOPIC ") || !strings.Contains(help, "--snapshot billing-then\n") {
		t.Errorf("the help is\n%s", help)
	}
}

// What the help of update says of another subscription does as it says.
func TestAnotherSubscriptionInPlaceOfOne(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	c.run("publish", "orders", "before")
	without, with, _ := strings.Cut(replaceHelp, "Where filter")
	for _, command := range regexp.MustCompile("(?m)postrider .*$").FindAllString(without, -1) {
		checkCall(t, command)
	}
	for _, command := range regexp.MustCompile("(?m)^  postrider .*$").FindAllString(with, -1) {
		c.run(shellWords(command)[1:]...)
	}
	if got := c.run("pull", "billing-2", "--max", "10"); !strings.Contains(got, "before") {
		t.Errorf("pulled\n%s", got)
	}
	if got := c.run("subscriptions", "list"); strings.Contains(got, "billing ") || !strings.Contains(got, "billing-2") {
		t.Errorf("there is\n%s", got)
	}
}

// Flags and commands of Google's command line are told in our words, if there is such a thing here.
func TestForeignWords(t *testing.T) {
	t.Parallel()
	root := newRoot(process{})
	for line, says := range map[string]string{
		"apply -f x --dry-run":                              "here it is --validate-only (see postrider apply --help)",
		"subscriptions create s-1 --topic t --labels a=b":   "--label KEY=VALUE, once",
		"subscriptions update s-1 --update-labels=a=b":      "--label KEY=VALUE, once",
		"topics update t-1 --remove-labels=a":               "--label KEY=VALUE, once",
		"subscriptions update s-1 --no-push-no-wrapper":     "here it is --push-no-wrapper=false",
		"subscriptions update s-1 --no-retain-ackd":         "unknown flag: --no-retain-ackd (see",
		"pull s-1 --limit=3":                                "--max NUMBER",
		"publish t-1 --message=x":                           "postrider publish TOPIC DATA",
		"ack s-1 --ack-ids=a":                               "as arguments",
		"topics list --format=json":                         "-o table, json or yaml",
		"backup f --limit=3":                                "unknown flag: --limit (see postrider backup --help)",
		"topics describe t-1":                               `here it is "postrider topics get" (see postrider topics --help)`,
		"subscriptions pull s-1 --auto-ack":                 `here it is "postrider pull"`,
		"subscriptions updat s-1":                           "did you mean update?",
		"dlq nonsense":                                      `unknown command "nonsense" for "postrider dead-letters" (see`,
		"subscriptions modify-message-ack-deadline s --x=y": `"postrider nack"`,
	} {
		status, out, errors := commandLine{T: t}.try("", strings.Fields(line)...)
		if status != exitUsage || out != "" || !strings.Contains(errors, says) {
			t.Errorf("%s: exit status %d, %s%s", line, status, out, errors)
		}
	}
	for foreign, here := range foreignCommands {
		if c, rest, err := root.Find(strings.Fields(here)); err != nil || len(rest) > 0 || !c.Runnable() {
			t.Errorf("there is no %s", here)
		}
		if c, _, _ := root.Find(strings.Fields(foreign)); c.Runnable() {
			t.Errorf("%s is a command here", foreign)
		}
	}
	for _, foreign := range foreignFlags {
		if foreign.here != "" && !slices.ContainsFunc(everyCommand(root), func(c *cobra.Command) bool { return c.Flags().Lookup(foreign.here) != nil }) {
			t.Errorf("no command has --%s", foreign.here)
		}
	}
	for _, group := range []string{"topics", "dlq", "subscriptions --help"} {
		if got := (commandLine{T: t}).run(strings.Fields(group)...); !strings.Contains(got, "Available Commands:") {
			t.Errorf("%s: %s", group, got)
		}
	}
}
