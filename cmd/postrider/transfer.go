package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/storage/private"
	"postrider/storage/redisstream"
)

// What "migrate", "backup" and "restore" have in common.

// addPlaceFlags adds the settings of the server that say where its messages are kept.
func addPlaceFlags(c *cobra.Command, server *pflag.FlagSet) {
	c.Flags().SortFlags = false
	for _, name := range []string{"redis-url", "data-dir", "config"} {
		c.Flags().AddFlag(server.Lookup(name))
	}
}

// place is where messages are kept.
type place struct{ url, name string }

func (p place) String() string { return p.name }

// transfer is one run of such a command.
type transfer struct {
	p        process
	print    printer
	bar      *progressBar
	progress *redisstream.Progress
}

func newTransfer(p process, format string) *transfer {
	progress := &redisstream.Progress{}
	return &transfer{p: p, print: printer{p.out, format}, bar: newProgressBar(p.err, progress.Now), progress: progress}
}

// on does something with the store that a server would use. A private Redis that no server runs is run meanwhile.
func (t *transfer) on(ctx context.Context, config Config, do func(context.Context, place) error) error {
	if err := config.validate(func(string) bool { return false }); err != nil {
		return err
	}
	switch {
	case config.RedisURL != "":
		return do(ctx, place{config.RedisURL, redisPlace(config.RedisURL)})
	case config.DataDir == "":
		return usagef("it is not said where messages are kept: give --data-dir, or the URL of a Redis")
	}
	log := newLogger(t.bar, config)
	redis, err := private.Open(ctx, private.Options{
		Dir: config.DataDir, MaxMemory: config.MaxMemory, AppendFsync: config.Fsync, Logger: log,
	})
	if errors.Is(err, private.ErrInUse) {
		url, err2 := socketOfServer(config.DataDir)
		if err2 != nil {
			return errors.Join(err, err2)
		}
		return do(ctx, place{url, "the data directory " + config.DataDir + ", which a server uses,"})
	}
	if err != nil {
		return err
	}
	parts, running := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(running)
	parts.Go(func() error { return redis.Run(running) })
	parts.Go(func() error {
		defer stop()
		return do(running, place{redis.URL(), "the data directory " + redis.Dir()})
	})
	return errors.Join(parts.Wait(), redis.Close())
}

// socketOfServer is the URL of the private Redis of a server that uses a data directory. The server writes it into its lock.
func socketOfServer(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 2 || lines[1] == "" {
		return "", fmt.Errorf("%s does not say where the server's Redis listens", filepath.Join(dir, "lock"))
	}
	return "unix://" + strings.NewReplacer("%", "%25", "@", "%40", "?", "%3F", "#", "%23").Replace(lines[1]), nil
}

// watch shows how far something has come while it is done.
func (t *transfer) watch(ctx context.Context, do func(redisstream.TransferOptions) error) error {
	stop := t.bar.start(ctx)
	defer stop()
	return do(redisstream.TransferOptions{Log: newLogger(t.bar, Config{LogFormat: formatText}), Progress: t.progress})
}

// began tells whether anything was done that the source could notice.
func (t *transfer) began() bool {
	return t.progress.Now().Messages > 0 || t.progress.Now().MessagesDone > 0
}

// survey says what there is, and whether it could be moved to a target, if one is given.
func (t *transfer) survey(ctx context.Context, from place, to string) error {
	var report redisstream.Report
	err := t.watch(ctx, func(o redisstream.TransferOptions) (err error) {
		report, err = redisstream.Survey(ctx, from.url, to, o)
		return err
	})
	if err != nil {
		return err
	}
	next := ""
	if to != "" {
		next = fmt.Sprintf("It can be moved to %s.", redisPlace(to))
	}
	return t.report(report, 0, next)
}

// transferReport is what was, or would be, taken along, for programs.
type transferReport struct {
	Topics        int            `json:"topics"`
	DeletedTopics int            `json:"deletedTopics"` // of which subscriptions have messages
	Subscriptions int            `json:"subscriptions"`
	Messages      wire.Int64     `json:"messages"`
	Bytes         wire.Int64     `json:"bytes"`
	Outstanding   wire.Int64     `json:"outstandingMessages"`
	Took          *wire.Duration `json:"took,omitempty"`
	Frozen        *wire.Duration `json:"frozen,omitempty"`
	Verified      bool           `json:"verified,omitempty"`
}

// report shows what was, or would be, taken along; took is 0 for the latter. People are also told what is next, if something is.
func (t *transfer) report(r redisstream.Report, took time.Duration, next string) error {
	message := transferReport{
		Topics: r.Topics, DeletedTopics: r.Deleted, Subscriptions: r.Subscriptions, Messages: wire.Int64(r.Messages),
		Bytes: wire.Int64(r.Bytes), Outstanding: wire.Int64(r.Outstanding), Verified: r.Verified,
	}
	if took > 0 {
		message.Took = wire.NewDuration(took)
	}
	if r.Frozen > 0 {
		message.Frozen = wire.NewDuration(r.Frozen)
	}
	return t.print.result(message, func() error {
		if err := t.table(r, took); err != nil || next == "" {
			return err
		}
		return t.print.line("\n%s", next)
	})
}

// done says what was done that has nothing to report.
func (t *transfer) done(format string, args ...any) error {
	return t.print.result(api.Empty{}, func() error { return t.print.line(format, args...) })
}

// table is report for people.
func (t *transfer) table(r redisstream.Report, took time.Duration) error {
	topics := grouped(int64(r.Topics))
	if r.Deleted > 0 {
		topics += fmt.Sprintf(", and %s deleted ones that subscriptions have messages of", grouped(int64(r.Deleted)))
	}
	rows := []string{
		"topics", topics,
		"subscriptions", grouped(int64(r.Subscriptions)),
		"messages", grouped(r.Messages),
		"bytes", grouped(r.Bytes),
		"outstanding", grouped(r.Outstanding),
	}
	if took > 0 {
		rows = append(rows, "took", took.Round(time.Millisecond).String())
	}
	if r.Frozen > 0 {
		rows = append(rows, "frozen", r.Frozen.Round(time.Millisecond).String()+" until all had arrived")
	}
	if r.Verified {
		rows = append(rows, "verified", "yes: read back and compared")
	}
	return t.print.fields(rows...)
}

// grouped writes a number with commas.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
