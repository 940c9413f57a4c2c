package child

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 3 * keptLines {
		fmt.Fprintf(&text, "%d %s\n", i, strings.Repeat("x", i*10))
	}
	var seen int
	words := tail{line: func(string) { seen++ }}
	words.readFrom(strings.NewReader(text.String()))
	last := words.last()
	if seen != 3*keptLines || len(last) != keptLines {
		t.Errorf("saw %d lines, kept %d", seen, len(last))
	}
	for i, line := range last {
		if !strings.HasPrefix(line, fmt.Sprint(2*keptLines+i, " x")) || len(line) > keptBytes {
			t.Errorf("line %d is %.20q with %d bytes", i, line, len(line))
		}
	}
}

func TestTelling(t *testing.T) {
	t.Parallel()
	const at = " 29 Nov 2026 13:53:34.952 "
	for name, test := range map[string]struct{ lines, want []string }{
		"nothing": {},
		"the settings": {
			[]string{"", "*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***", "at line 2", ">>> 'maxmemory \"x\"'", "argument must be a memory value"},
			[]string{">>> 'maxmemory \"x\"'", "argument must be a memory value"},
		},
		"the last warnings": {
			[]string{"1:C" + at + "# Redis is starting", "1:M" + at + "* Ready", "1:M" + at + "# Error: No space left", "1:M" + at + "# Exiting..."},
			[]string{"Error: No space left", "Exiting..."},
		},
		"no advice": {
			[]string{"1:M" + at + "* Mode", "1:M" + at + "# WARNING overcommit_memory", "1:M" + at + "# Bad file format"},
			[]string{"Bad file format"},
		},
		"no warnings": {[]string{"1:M" + at + "* Ready"}, nil},
	} {
		if got := telling(test.lines); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
