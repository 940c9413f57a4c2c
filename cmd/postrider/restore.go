package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"postrider/storage/redisstream"
)

func newRestore(p process) *cobra.Command {
	var config Config
	var validateOnly bool
	var format string
	flags := serverFlags(&config)
	c := &cobra.Command{
		Use: "restore FILE", Short: "Fill an empty store from a backup", GroupID: groupServer, Args: nArgs(1, 1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		Long: `Fill an empty store from a file that "postrider backup" wrote. The whole file is checked before anything is written; one that is
damaged, or that a newer Postrider wrote, is refused. What was written is read back and compared.

The store is what "serve" would use, and no server may run on it: start one afterwards. Leases go on as they were, so what was
leased when the backup was made comes again when its deadline is over.

Ctrl-C, or a crash, loses nothing: the same command goes on where it was.`,
		Example: `  postrider restore --data-dir /var/lib/postrider /backup/postrider-2026-11-29
  postrider restore /backup/postrider-2026-11-29 --validate-only`,
	}
	addPlaceFlags(c, flags)
	c.Flags().BoolVar(&validateOnly, "validate-only", false, "only check the file and say what is in it")
	bindOutput(c, &format, outputTable, outputJSON, outputYAML)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := loadSettings(flags, p.environ); err != nil {
			return err
		}
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		t := newTransfer(p, format)
		if validateOnly {
			report, err := checkBackup(c.Context(), p, file)
			if err != nil {
				return err
			}
			return t.report(report, 0, "")
		}
		return t.on(c.Context(), config, func(ctx context.Context, to place) error { return restore(ctx, t, file, to) })
	}
	return c
}

// checkBackup reads a file to its end, and shows how far that is.
func checkBackup(ctx context.Context, p process, file *os.File) (redisstream.Report, error) {
	info, err := file.Stat()
	if err != nil {
		return redisstream.Report{}, err
	}
	read := &countingReader{Reader: file, stopped: ctx.Err}
	bar := newProgressBar(p.err, func() redisstream.ProgressNow {
		return redisstream.ProgressNow{Stage: "checking the file", Messages: info.Size() >> 10, MessagesDone: read.bytes.Load() >> 10}
	})
	bar.unit = "KiB"
	defer bar.start(ctx)()
	report, err := redisstream.CheckBackup(read)
	if ctx.Err() != nil {
		return report, ctx.Err()
	}
	return report, err
}

// countingReader counts what is read, for others to ask, and fails once it is stopped.
type countingReader struct {
	io.Reader
	stopped func() error
	bytes   atomic.Int64
}

func (r *countingReader) Read(b []byte) (int, error) {
	if err := r.stopped(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(b)
	r.bytes.Add(int64(n))
	return n, err
}

func restore(ctx context.Context, t *transfer, file *os.File, to place) error {
	start := time.Now()
	var report redisstream.Report
	err := t.watch(ctx, func(o redisstream.TransferOptions) (err error) {
		report, err = redisstream.Restore(ctx, file, to.url, o)
		return err
	})
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(t.p.err, "postrider: go on with the same command, or empty the store with \"postrider migrate --discard --to URL\".\n")
	}
	if err != nil {
		return err
	}
	return t.report(report, time.Since(start), fmt.Sprintf("It is in %s: start servers on it.", to))
}
