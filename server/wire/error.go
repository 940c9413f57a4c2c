package wire

import (
	"strings"
	"unicode/utf8"
)

// Error is a body that cannot be read. Its text is safe to show to the caller.
type Error struct {
	Path    string // where, such as messages[0].data; empty for the body as a whole
	Problem string // what was expected there
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "invalid JSON: " + e.Problem
	}
	return "invalid JSON at " + e.Path + ": " + e.Problem
}

// within puts an outer name before the path.
func (e *Error) within(name string) *Error {
	switch {
	case e.Path == "":
		e.Path = name
	case strings.HasPrefix(e.Path, "["):
		e.Path = name + e.Path
	default:
		e.Path = name + "." + e.Path
	}
	return e
}

// clip shortens what the caller sent and an error repeats, which may be megabytes.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
