package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postrider/storage/redisstream"
)

// migration is what "migrate" is told.
type migration struct {
	config               Config // says where the source is, unless from does
	from, to             string
	validateOnly         bool
	abort, force, throws bool
	format               string
}

func newMigrate(p process) *cobra.Command {
	var m migration
	flags := serverFlags(&m.config)
	c := &cobra.Command{
		Use: "migrate", Short: "Move everything to another Redis or cluster, while servers go on", GroupID: groupServer, Args: noArgs,
		Long: `Move everything to another Redis or cluster: topics, subscriptions, messages, and what is leased, waits or is dead, with ids,
attempts and counters as they are.

Most of it is copied while the servers go on. Then the source is frozen, one topic after the other, and what is left follows:
until the servers are pointed to the target they answer 503 with a Retry-After, and nothing is delivered. What has arrived is
read back and compared.

The source is what "serve" would use: --data-dir, POSTRIDER_REDIS_URL or the configuration file; --from names another. A data
directory may be in use by a running server. The target must be empty.

Ctrl-C, or a crash, loses nothing: the same command goes on where it was. --abort gives up and lets the source be used again;
--discard empties a target that was left half filled.`,
		Example: `  postrider migrate --data-dir /var/lib/postrider --to redis://redis.internal:6379 --validate-only
  postrider migrate --data-dir /var/lib/postrider --to @/etc/postrider/new-redis-url
  postrider migrate --from redis://old:6379 --to rediss://cluster.internal:6379
  postrider migrate --from redis://old:6379 --abort`,
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&m.from, "from", "", "`URL` of the Redis to move from, or @FILE that holds it")
	c.Flags().AddFlag(flags.Lookup("data-dir"))
	c.Flags().AddFlag(flags.Lookup("config"))
	c.Flags().StringVar(&m.to, "to", "", "`URL` of the Redis or cluster to move to, or @FILE that holds it")
	c.Flags().BoolVar(&m.validateOnly, "validate-only", false, "only say what would be moved, and whether it could be")
	c.Flags().BoolVar(&m.abort, "abort", false, "give up: let the source be used again")
	c.Flags().BoolVar(&m.force, "force", false, "with --abort: also when the move is over and servers may have used the target")
	c.Flags().BoolVar(&m.throws, "discard", false, "empty the target of what a move or a restore that was given up left there")
	bindOutput(c, &m.format, outputTable, outputJSON, outputYAML)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if m.from != "" && flags.Lookup("data-dir").Changed {
			return usagef("--from and --data-dir: there is one source; leave one of them out")
		}
		if err := loadSettings(flags, p.environ); err != nil {
			return err
		}
		return m.run(c.Context(), p)
	}
	return c
}

func (m *migration) run(ctx context.Context, p process) error {
	if err := m.validate(); err != nil {
		return err
	}
	t := newTransfer(p, m.format)
	if m.throws {
		if err := t.watch(ctx, func(o redisstream.TransferOptions) error { return redisstream.Discard(ctx, m.to, o) }); err != nil {
			return err
		}
		return t.done("%s is empty again.", redisPlace(m.to))
	}
	return t.on(ctx, m.config, func(ctx context.Context, from place) error {
		switch {
		case m.abort:
			err := t.watch(ctx, func(o redisstream.TransferOptions) error { return redisstream.Abandon(ctx, from.url, m.force, o) })
			if err != nil {
				return err
			}
			return t.done("%s can be used again.", from)
		case m.validateOnly:
			return t.survey(ctx, from, m.to)
		}
		return m.move(ctx, t, from)
	})
}

// validate finds what is wrong with the flags, and reads URLs from files.
func (m *migration) validate() error {
	var err error
	if m.from, err = urlFrom("from", m.from); err != nil {
		return err
	}
	if m.to, err = urlFrom("to", m.to); err != nil {
		return err
	}
	if m.from != "" {
		m.config.RedisURL, m.config.DataDir = m.from, ""
	}
	switch {
	case m.abort && (m.validateOnly || m.throws), m.validateOnly && m.throws:
		return usagef("--abort, --discard and --validate-only exclude one another")
	case m.force && !m.abort:
		return usagef("--force is for --abort")
	case m.abort && m.to != "":
		return usagef("--abort is about the source: leave --to out, and empty the target with --discard")
	case m.throws && m.from != "":
		return usagef("--discard is about the target: leave --from out")
	case m.to == "" && !m.abort:
		return usagef("--to is missing: name the Redis to move to")
	}
	return nil
}

// urlFrom is the URL in a flag, or in the file that the flag names: others may read the command line of a process.
func urlFrom(flag, text string) (string, error) {
	if file, ok := strings.CutPrefix(text, "@"); ok {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", usagef("--%s: %w", flag, err)
		}
		text = strings.TrimSpace(string(content))
	}
	if text == "" {
		return "", nil
	}
	if _, err := redisstream.ParseURL(text); err != nil {
		return "", usagef("--%s: %w", flag, err)
	}
	return text, nil
}

// move moves, and says what to do next.
func (m *migration) move(ctx context.Context, t *transfer, from place) error {
	start := time.Now()
	var report redisstream.Report
	err := t.watch(ctx, func(o redisstream.TransferOptions) (err error) {
		report, err = redisstream.Migrate(ctx, from.url, m.to, o)
		return err
	})
	if err != nil {
		if errors.Is(err, context.Canceled) || t.began() {
			fmt.Fprintf(t.p.err, "postrider: nothing is lost. Go on with the same command, or give up with \"postrider migrate --abort\": "+
				"%s may be frozen in part.\n", from)
		}
		return err
	}
	return t.report(report, time.Since(start), fmt.Sprintf(
		"All of it is in %s now. %s stays frozen: point the servers to the new one and start them again.", redisPlace(m.to), from))
}
