package child

import (
	"bufio"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The bounds on what is kept of the output. A crash report of Redis has hundreds of lines.
const (
	keptLines = 100
	keptBytes = 500 // of one line
)

// tail keeps the last lines of what is written to it.
type tail struct {
	line  func(string)
	mu    sync.Mutex
	lines []string
}

// readFrom takes all lines until the other end is closed. What is beyond the bound of a line is dropped.
func (t *tail) readFrom(r io.Reader) {
	lines := bufio.NewReaderSize(r, keptBytes)
	for {
		text, more, err := lines.ReadLine()
		if err != nil {
			return // the process and its forks have ended
		}
		t.add(string(text))
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
	}
}

func (t *tail) add(line string) {
	t.mu.Lock()
	if len(t.lines) == keptLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, line)
	t.mu.Unlock()
	if t.line != nil {
		t.line(line)
	}
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// logLine is a line of Redis's log: process, role, time, level (# is a warning), text.
var logLine = regexp.MustCompile(`^\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ ([.*#-]) (.*)`)

// tellingLines is how many lines say why a Redis ended: what went wrong, and what follows from it.
const tellingLines = 2

// telling picks the lines that say why a Redis ended: the warnings after all else, without the advice it gives at its start.
// One that does not understand its settings says so in plain lines, and logs nothing.
func telling(lines []string) []string {
	var warnings, plain []string
	for _, line := range lines {
		match := logLine.FindStringSubmatch(line)
		switch {
		case match == nil && line != "":
			plain = append(plain, line)
		case match == nil:
		case match[1] != "#":
			warnings = nil
		case !strings.HasPrefix(match[2], "WARNING"):
			warnings = append(warnings, match[2])
		}
	}
	if warnings == nil {
		warnings = plain
	}
	return warnings[max(0, len(warnings)-tellingLines):]
}
