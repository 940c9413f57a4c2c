package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/spf13/cobra"

	"postrider/cmd/postrider/bench"
	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

// benchFlags are the flags of "bench".
type benchFlags struct {
	server, project, redisURL, receiver string
	fsync                               []string
	runs, messages                      int
	seconds                             float64
	profile                             string
	program                             string // what is started, ourselves
}

func newBench(p process) *cobra.Command {
	var flags benchFlags
	c := &cobra.Command{
		Use: "bench", Short: "Measure a server beside what the machine can do", GroupID: groupServer, Args: noArgs,
		Long: `Measure a server beside what the machine can do, in one table. Each row stands beside a floor that is measured in the same
run, and shows medians.

Without --server it starts all it needs on this machine alone: a private Redis with an append-only file, a server, and a
process for the floors. With --server it measures that one, in topics and subscriptions of its own, which it removes again;
what needs Redis is left out unless --redis-url says where that server keeps its messages. Ctrl-C ends it and prints what
there is.`,
		Example: `  postrider bench
  postrider bench --seconds 5 --fsync always
  postrider bench --server http://pubsub.internal:8085 --receiver 10.0.0.7:9000`,
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&flags.server, "server", "", "`URL` of a server of this API; without it one is started")
	f.StringVar(&flags.project, "project", defaultProject, "`ID` of the project for the bench's own topics and subscriptions")
	f.StringVar(&flags.redisURL, "redis-url", "", "`URL` of the Redis, not a cluster, that the server of --server keeps its messages in")
	f.StringVar(&flags.receiver, "receiver", "127.0.0.1:0", "`HOST:PORT` at which the server can reach this machine, for pushes")
	f.StringSliceVar(&flags.fsync, "fsync", []string{"everysec", "always"},
		"`SETTINGS` of Redis's appendfsync to measure at, if the Redis is started here: everysec, always, no")
	f.IntVar(&flags.runs, "runs", 5, "`NUMBER` of times that everything is measured")
	f.Float64Var(&flags.seconds, "seconds", 2, "`SECONDS` that one measurement takes at most; there are about 14 in a run")
	f.IntVar(&flags.messages, "messages", 300_000, "`NUMBER` of messages of one measurement at most")
	f.StringVar(&flags.profile, "profile", "", "`DIRECTORY` for CPU profiles of the server, if it is started here; slows it down")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := flags.validate(c.Flags().Changed); err != nil {
			return err
		}
		var err error
		if flags.program, err = os.Executable(); err != nil {
			return err
		}
		return runBench(c.Context(), p, flags)
	}
	c.AddCommand(newBenchFloor(p), newBenchServer(p))
	return c
}

func (f benchFlags) validate(given func(string) bool) error {
	var wrong []error
	if f.server == "" && f.redisURL != "" {
		wrong = append(wrong, usagef("--redis-url is for a server that is named by --server"))
	}
	for _, name := range []string{"fsync", "profile"} {
		if f.server != "" && given(name) {
			wrong = append(wrong, usagef("--%s is for a server that is started here, without --server", name))
		}
	}
	for _, setting := range f.fsync {
		if !slices.Contains([]string{"everysec", "always", "no"}, setting) {
			wrong = append(wrong, usagef("--fsync: %q is none of everysec, always and no", setting))
		}
	}
	if f.runs < 1 || f.messages < 1 || f.seconds <= 0 || f.seconds > time.Hour.Seconds() {
		wrong = append(wrong, usagef("--runs, --messages and --seconds must be positive, and the last at most an hour"))
	}
	return errors.Join(append(wrong, refusal(subscriptions.ValidateProject(f.project)))...)
}

func runBench(ctx context.Context, p process, flags benchFlags) (err error) {
	rig, err := newBenchRig(ctx, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rig.close()) }()
	progress := newProgress(p.err)
	rig.options.Progress = progress.show
	report, err := bench.Run(ctx, rig.options)
	progress.clear()
	if !slices.ContainsFunc(report.Rows, func(r bench.Row) bool { return len(r.Pairs) > 0 }) {
		return err
	}
	return errors.Join(err, printBench(p.out, report, flags))
}

// printBench prints the table, under a line on what was measured where.
func printBench(w io.Writer, report bench.Report, flags benchFlags) error {
	redisVersion := ""
	if report.Redis != "" {
		redisVersion = ", Redis " + report.Redis
	}
	if _, err := fmt.Fprintf(w, "postrider %s, %s, %s/%s, %d CPUs%s; medians of %d of %d runs, at most %gs and %d messages a measurement\n\n",
		version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), redisVersion,
		report.Runs, report.Of, flags.seconds, flags.messages); err != nil {
		return err
	}
	return report.Write(w)
}

// benchRedis connects to the Redis behind a server.
func benchRedis(url string) (redis.UniversalClient, error) {
	o, err := redisstream.ParseURL(url)
	if err != nil {
		return nil, usagef("--redis-url: %w", err)
	}
	o.PoolSize = 64
	o.DisableIdentity = true // Redis 7.0 does not know it
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewUniversalClient(o), nil
}

// progress is a line that tells what is going on, for people who watch.
type progress struct {
	w       io.Writer
	watched bool
}

func newProgress(w io.Writer) progress { return progress{w, isTerminal(w)} }

// clearLine goes to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

func (p progress) show(what string) {
	if p.watched {
		fmt.Fprint(p.w, clearLine+what)
	}
}

func (p progress) clear() { p.show("") }
