package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What comes to the fingers of those who know Google's command line, or kubectl, and is spelled otherwise here.

// foreignFlags say of flags elsewhere what does the same here. The first that a command has is meant: a hint without a flag is
// for all commands.
var foreignFlags = []struct{ flag, here, hint string }{
	{"dry-run", "validate-only", "--validate-only"},
	{"labels", "label", "--label KEY=VALUE, once for each label"},
	{"update-labels", "label", "--label KEY=VALUE, once for each label: together they replace all that there are"},
	{"remove-labels", "label", "--label KEY=VALUE, once for each label that stays"},
	{"limit", "max", "--max NUMBER"},
	{"message", "ordering-key", "the data as arguments: postrider publish TOPIC DATA"},
	{"filter", "output", "-o json, and a program such as jq"},
	{"format", "output", "-o table, json or yaml"},
	{"quiet", "yes", "--yes"},
	{"ack-ids", "", "the ids as arguments, after the subscription"},
	{"clear-push-no-wrapper-config", "push-no-wrapper", "--push-no-wrapper=false"},
	{"topic-project", "topic", "a full name: --topic projects/PROJECT/topics/ID"},
	{"dead-letter-topic-project", "dead-letter-topic", "a full name: --dead-letter-topic projects/PROJECT/topics/ID"},
	{"subscription-project", "subscription", "a full name: --subscription projects/PROJECT/subscriptions/ID"},
	{"snapshot-project", "snapshot", "a full name: --snapshot projects/PROJECT/snapshots/ID"},
}

// unknownFlag adds to the error for a flag that a command does not have what it may be called here.
func unknownFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	if positive, ok := strings.CutPrefix(name, "no-"); ok {
		if f := c.Flags().Lookup(positive); f != nil && f.NoOptDefVal == "true" {
			return fmt.Errorf("%w; here it is --%s=false", err, positive)
		}
	}
	for _, foreign := range foreignFlags {
		if name == foreign.flag && (foreign.here == "" || c.Flags().Lookup(foreign.here) != nil) {
			return fmt.Errorf("%w; here it is %s", err, foreign.hint)
		}
	}
	return err
}

// foreignCommands say of commands elsewhere, below which of ours, what does the same here.
var foreignCommands = map[string]string{
	"topics describe":                           "topics get",
	"topics publish":                            "publish",
	"topics list-subscriptions":                 "topics subscriptions",
	"topics detach-subscription":                "subscriptions detach",
	"subscriptions describe":                    "subscriptions get",
	"subscriptions pull":                        "pull",
	"subscriptions ack":                         "ack",
	"subscriptions seek":                        "seek",
	"subscriptions tail":                        "tail",
	"subscriptions modify-message-ack-deadline": "nack",
	"snapshots describe":                        "snapshots get",
}

// checkSubcommand refuses a word that is no command where one is due: cobra would print the help, as if nothing were wrong.
func checkSubcommand(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err != nil || c == root || c.Runnable() {
		return nil // cobra itself tells what is wrong, if something is
	}
	i := slices.IndexFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return nil
	}
	meant := c.Name() + " " + rest[i]
	text := fmt.Sprintf("unknown command %q for %q", rest[i], c.CommandPath())
	if here, ok := foreignCommands[meant]; ok {
		text += fmt.Sprintf("; here it is \"%s %s\"", root.Name(), here)
	} else if names := c.SuggestionsFor(rest[i]); len(names) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(names, " or "))
	}
	return usagef("%s (see %s --help)", text, c.CommandPath())
}
