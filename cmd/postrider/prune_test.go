package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// prunable is a server with what one file and others declare. Of the file, ours, all is marked.
func prunable(t *testing.T) (c commandLine, requests func() []string, ours string) {
	t.Helper()
	c, requests = recording(t, client(t, startApp(t, nil).Addr()))
	ours = "topics:\n- {name: orders, labels: &l {managed-by: checkout}}\n- {name: orders-dead, labels: *l}\n" +
		"subscriptions:\n- {name: billing, topic: orders, labels: *l}\n" +
		"- {name: audit, topic: orders, labels: *l, deadLetterPolicy: {deadLetterTopic: orders-dead}}\n"
	for project, file := range map[string]string{
		"demo":  "topics: [{name: theirs, labels: {managed-by: others}}, {name: by-hand}]\nsubscriptions: [{name: theirs, topic: theirs}]\n",
		"other": ours,
	} {
		if status, _, errors := c.try(file, "apply", "-f", "-", "--project", project); status != 0 {
			t.Fatal(errors)
		}
	}
	c.apply(t, ours, "0 deleted")
	requests()
	return c, requests, ours
}

// apply applies a file with --prune and --yes, and looks for a text in what is printed.
func (c commandLine) apply(t *testing.T, file, want string) {
	t.Helper()
	status, out, errors := c.try(file, "apply", "-f", "-", "--prune", "managed-by=checkout", "--yes")
	if status != 0 || !strings.Contains(out, want) {
		t.Errorf("exit status %d, %q is missing in %s%s", status, want, out, errors)
	}
}

func TestApplyPrunes(t *testing.T) {
	t.Parallel()
	c, requests, ours := prunable(t)
	c.run("publish", "orders", "one", "two")
	requests()
	less, _, _ := strings.Cut(ours, "- {name: audit")
	less = strings.Replace(less, "- {name: orders-dead, labels: *l}\n", "- {name: new, labels: *l}\n", 1)

	// Without --yes, or only validated, it is told and not done.
	const plan = "create     projects/demo/topics/new"
	const doomed = "delete     projects/demo/subscriptions/audit\n             with 2 messages that it has not acknowledged\ndelete     projects/demo/topics/orders-dead\n"
	const sum = "1 to create, 0 to update, 2 unchanged, 2 to delete\n"
	for args, want := range map[string]int{"": exitUsage, "--validate-only": 0, "--validate-only --exit-code": exitChanges} {
		status, out, errors := c.try(less, append([]string{"apply", "-f", "-", "--prune", "managed-by=checkout"}, strings.Fields(args)...)...)
		if sent := requests(); status != want || !strings.Contains(out, plan) || !strings.HasSuffix(out, doomed+sum) || slices.ContainsFunc(sent, changes) {
			t.Errorf("%q: exit status %d, %s%s, sent %q", args, status, out, errors, sent)
		}
		if args == "" && !strings.Contains(errors, "would delete 1 subscription and 1 topic for good: say --yes") {
			t.Error(errors)
		}
	}

	c.apply(t, less, "1 created, 0 updated, 2 unchanged, 2 deleted\n")
	if sent := slices.DeleteFunc(requests(), func(r string) bool { return !changes(r) }); fmt.Sprint(sent) != "[PUT new DELETE audit DELETE orders-dead]" {
		t.Errorf("sent %q", sent)
	}
	// Nothing is left to delete, so nothing needs to be confirmed.
	if status, out, errors := c.try(less, "apply", "-f", "-", "--prune", "managed-by=checkout"); status != 0 || !strings.HasSuffix(out, "3 unchanged, 0 deleted\n") {
		t.Errorf("exit status %d, %s%s", status, out, errors)
	}
	for project, want := range map[string]string{"demo": "by-hand new orders theirs billing theirs", "other": "orders orders-dead audit billing"} {
		var names []string
		for line := range strings.SplitSeq(c.run("topics", "list", "--project", project)+c.run("subscriptions", "list", "--project", project), "\n") {
			if strings.HasPrefix(line, "projects/") {
				names = append(names, shortName(strings.Fields(line)[0]))
			}
		}
		for i, name := range names {
			names[i] = shortName(name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has %s, want %s", project, got, want)
		}
	}
}

// changes tells of a request that would change something: to explain is a POST, too.
func changes(request string) bool { return !strings.HasPrefix(request, "POST ") }

// What may be a mistake deletes nothing, and changes nothing else either.
func TestApplyRefusesToPrune(t *testing.T) {
	t.Parallel()
	c, requests, ours := prunable(t)
	const label = "labels: {managed-by: checkout}"
	for _, attempt := range []struct{ what, before, file, prune, want string }{
		{"an empty file", "", "# nothing\n", "managed-by=checkout", "the files declare nothing"},
		{"an empty list", "", "topics: []\n", "managed-by=checkout", "the files declare nothing"},
		{"another label", "", ours, "managed-by=others", "input:2: projects/demo/topics/orders: labels: managed-by=others is missing"},
		{"a part without it", "", ours + "- {name: more, topic: orders}\n", "managed-by=checkout", "input:7: projects/demo/subscriptions/more: labels: managed-by=checkout is missing"},
		{"no label", "", ours, "managed-by", "expected KEY=VALUE"},
		{"the topic of what is declared", "", "subscriptions: [{name: billing, topic: orders, " + label + "}]", "managed-by=checkout",
			"input:1: projects/demo/subscriptions/billing: it needs projects/demo/topics/orders, which --prune would delete"},
		{"the topic of others", "subscriptions create by-hand --topic orders", "topics: [{name: new, " + label + "}]", "managed-by=checkout",
			"topics/orders has the label managed-by=checkout and is not declared, but is needed by what stays, projects/demo/subscriptions/by-hand: declare"},
		{"the topic of another project's", "subscriptions create elsewhere --project third --topic projects/demo/topics/orders",
			"topics: [{name: new, " + label + "}]", "managed-by=checkout", "what stays, projects/demo/subscriptions/by-hand, projects/third/subscriptions/elsewhere: declare"},
		{"the dead letters of others", "subscriptions create mourner --topic theirs --dead-letter-topic orders-dead",
			"topics: [{name: new, " + label + "}]", "managed-by=checkout", "topics/orders-dead has the label managed-by=checkout and is not declared, but is needed by what stays, projects/demo/subscriptions/mourner: "},
	} {
		if attempt.before != "" {
			c.run(strings.Fields(attempt.before)...)
			requests()
		}
		status, out, errors := c.try(attempt.file, "apply", "-f", "-", "--prune", attempt.prune, "--yes")
		if sent := requests(); status != exitUsage || out != "" || len(sent) > 0 || !strings.Contains(errors, attempt.want) {
			t.Errorf("%s: exit status %d, %s%s, sent %q", attempt.what, status, out, errors, sent)
		}
	}
	if status, _, errors := c.try(ours, "apply", "-f", "-", "--yes"); status != exitUsage || !strings.Contains(errors, "--yes is for --prune") {
		t.Errorf("exit status %d, %s", status, errors)
	}
}

// What a tail makes is no use of a topic.
func TestPrunedTopicThatIsWatched(t *testing.T) {
	t.Parallel()
	c, _, _ := prunable(t)
	c.run("subscriptions", "create", "tail-left", "--topic", "orders", "--label", tailLabel+"=")
	c.apply(t, "topics: [{name: new, labels: {managed-by: checkout}}]", "1 created, 0 updated, 0 unchanged, 4 deleted\n")
}

func TestPruningForPrograms(t *testing.T) {
	t.Parallel()
	c, _, _ := prunable(t)
	c.run("publish", "orders", "one")
	c.run("publish", "orders-dead", "later", "--deliver-at", "1h")
	var steps []appliedStep
	_, out, _ := c.try("topics: [{name: orders, labels: {managed-by: checkout}}]", "apply", "-f", "-", "-o", "json", "--prune", "managed-by=checkout", "--validate-only")
	decode(t, out, &steps)
	if len(steps) != 4 || steps[1].Action != actionDelete || steps[1].Loses != "with 1 message that it has not acknowledged" ||
		steps[3].Name != "projects/demo/topics/orders-dead" || steps[3].Loses != "with 1 message that will be due later" {
		t.Errorf("%+v", steps)
	}
}
