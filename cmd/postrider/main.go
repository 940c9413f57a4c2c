// Command postrider is Google Cloud Pub/Sub to host oneself, on Redis: the server, a demonstration of it, and a command
// line for it. One file holds one subcommand; app.go joins the parts of the server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

// run is the process: what main would be if it could return.
func run() int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	return execute(ctx, process{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}, os.Args[1:])
}

// process is what a command has of the process it runs in, so that tests can give it another one.
type process struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
}

// The exit statuses beside 128 and a signal's number.
const (
	exitFailure = 1
	exitUsage   = 2
	exitChanges = 3 // "apply --exit-code" found that there is something to do
)

// silentStatus is an error that is told by the exit status alone.
type silentStatus int

func (s silentStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, p process, args []string) int {
	root := newRoot(p)
	root.SetArgs(args)
	if err := checkSubcommand(root, args); err != nil {
		fmt.Fprintf(p.err, "postrider: %v\n", err)
		return exitUsage
	}
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	// Only an error that comes of a signal is no news: failing to drain is.
	var end interruption
	if errors.As(context.Cause(ctx), &end) && (errors.Is(err, context.Canceled) || errors.Is(err, end)) {
		return end.status()
	}
	var silent silentStatus
	if errors.As(err, &silent) {
		return int(silent)
	}
	if !errors.As(err, new(runError)) && !errors.As(err, new(usageError)) { // cobra's own, such as of a flag that is required
		err = usagef("%w (see %s --help)", err, c.CommandPath())
	}
	fmt.Fprintf(p.err, "postrider: %v\n", err)
	if errors.As(err, new(runError)) && !errors.As(err, new(usageError)) {
		return exitFailure
	}
	return exitUsage
}

// runError is an error of a command that began to run. All others are cobra's, about the command line.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// markRunErrors lets a command and those below it return runErrors.
func markRunErrors(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if err := run(c, args); err != nil {
				return runError{err}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		markRunErrors(sub)
	}
}

// usageError is a mistake in how the program was called or configured.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
