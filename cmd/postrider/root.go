package main

import (
	"github.com/spf13/cobra"
)

// newRoot makes the whole command line.
func newRoot(p process) *cobra.Command {
	root := &cobra.Command{
		Use:   "postrider",
		Short: "Google Cloud Pub/Sub to host yourself, on Redis",
		Long: `Postrider speaks Google Cloud Pub/Sub's own APIs, REST and gRPC, keeps messages in Redis and pushes them to HTTP endpoints.

"postrider serve" is the server and "postrider demo" shows it at work. The other commands talk to a running server.

Results go to standard output, in words or, with -o json or -o yaml, as the API has them; errors and progress go to standard
error. The exit status is 0 when all was done, 1 when something failed, 2 when the command line, a setting or a file is wrong
and nothing was begun, 3 when "apply --validate-only --exit-code" found changes, and 128 and the number of the signal when one
ended the command (130 for Ctrl-C).`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("postrider {{.Version}}\n")
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w (see %s --help)", unknownFlag(c, err), c.CommandPath())
	})
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "The server:"},
		&cobra.Group{ID: groupResources, Title: "Topics and subscriptions of a running server:"},
		&cobra.Group{ID: groupClient, Title: "Messages of a running server:"},
		&cobra.Group{ID: groupProgram, Title: "This program:"},
	)
	root.SetHelpCommandGroupID(groupProgram)
	root.SetCompletionCommandGroupID(groupProgram)
	root.AddCommand(
		newServe(p), newDemo(p), newBench(p), newMigrate(p), newBackup(p), newRestore(p),
		newTopics(p), newSubscriptions(p), newSnapshots(p), newSeek(p),
		newPublish(p), newPull(p), newTail(p), newPeek(p), newDeadLetterCommands(p), newOperations(p), newAck(p), newNack(p), newStatus(p), newReceive(p),
		newApply(p), newExport(p), newVersion(p),
		inGroup(newExplain(p), groupResources),
	)
	markRunErrors(root)
	completeNoFiles(root)
	return root
}

const (
	groupServer    = "server"
	groupResources = "resources"
	groupClient    = "client" // messages
	groupProgram   = "program"
)

// noArgs refuses arguments without repeating them: one may be a URL with a password that lost its flag.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, only flags (see %s --help)", c.CommandPath(), c.CommandPath())
	}
	return nil
}

// nArgs takes between least and most arguments; most below 0 is any number.
func nArgs(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("wrong number of arguments (%d); usage: %s", len(args), c.UseLine())
		}
		return nil
	}
}
