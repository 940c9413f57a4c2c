package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// newLogger logs to w: for people on a terminal, for machines elsewhere, unless the format is given.
func newLogger(w io.Writer, c Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == formatText || c.LogFormat == formatAuto && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
