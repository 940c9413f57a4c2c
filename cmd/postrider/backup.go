package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"postrider/storage/redisstream"
)

func newBackup(p process) *cobra.Command {
	var config Config
	var validateOnly bool
	var format string
	flags := serverFlags(&config)
	c := &cobra.Command{
		Use: "backup FILE", Short: "Write everything to a file, while servers go on", GroupID: groupServer, Args: nArgs(1, 1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		Long: `Write everything to a file, while servers go on: topics, subscriptions, messages, and what is leased, waits or is dead.
"postrider restore" fills an empty store from it. FILE must not be there yet; - is the standard output.

The file holds every message that was published before the backup began and was not settled when it ended. A message that was
acknowledged meanwhile may be in it and then comes again after a restore, as may one that was moved to its dead-letter topic
meanwhile. What is published, created or deleted meanwhile is in it or is not.

The store is what "serve" would use; a data directory may be in use by a running server.`,
		Example: `  postrider backup --data-dir /var/lib/postrider /backup/postrider-$(date +%F)
  postrider backup --redis-url redis://redis.internal:6379 - | ssh elsewhere 'cat >postrider.backup'`,
	}
	addPlaceFlags(c, flags)
	c.Flags().BoolVar(&validateOnly, "validate-only", false, "only say what would be written")
	bindOutput(c, &format, outputTable, outputJSON, outputYAML)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := loadSettings(flags, p.environ); err != nil {
			return err
		}
		t := newTransfer(p, format)
		return t.on(c.Context(), config, func(ctx context.Context, from place) error {
			if validateOnly {
				return t.survey(ctx, from, "")
			}
			return backup(ctx, t, from, args[0])
		})
	}
	return c
}

// backup writes the file, whole or not at all.
func backup(ctx context.Context, t *transfer, from place, name string) error {
	start := time.Now()
	var report redisstream.Report
	write := func(w io.Writer) error {
		return t.watch(ctx, func(o redisstream.TransferOptions) (err error) {
			report, err = redisstream.Backup(ctx, from.url, w, o)
			return err
		})
	}
	if name == "-" {
		if err := write(t.p.out); err != nil {
			return err
		}
		t.print.w = t.p.err
		return t.report(report, time.Since(start), "")
	}
	if err := writeWhole(name, write); err != nil {
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(t.p.err, "postrider: %s was not written. Start again with the same command.\n", name)
		}
		return err
	}
	return t.report(report, time.Since(start), fmt.Sprintf("It is in %s, for \"postrider restore\".", name))
}

// writeWhole writes a new file, whole or not at all. Only its owner may read it: it holds messages.
func writeWhole(name string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s is there already: it is not overwritten", name)
	}
	part := name + ".part"
	file, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, name); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(name)); err == nil { // so that the name survives a power failure, where that can be had
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}
