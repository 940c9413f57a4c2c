package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// newLogger logs to w: for people on a terminal, for machines elsewhere, unless the format is given.
func newLogger(w io.Writer, c Config) *slog.Logger {
	// A duration reads the same in both formats; JSON would make it a bare number of nanoseconds.
	options := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}
	if c.LogFormat == formatText || c.LogFormat == formatAuto && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
