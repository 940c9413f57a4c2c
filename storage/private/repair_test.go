//go:build linux || darwin

package private

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	setA  = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"
	multi = "*1\r\n$5\r\nMULTI\r\n"
	end   = "*1\r\n$4\r\nEXEC\r\n"
)

func TestScan(t *testing.T) {
	t.Parallel()
	big := "*2\r\n$3\r\nSET\r\n$100000\r\n" + strings.Repeat("*", 100000) + "\r\n"
	for name, test := range map[string]struct {
		text      string
		good, bad int
		whole     bool
	}{
		"nothing":                {"", 0, 0, true},
		"commands":               {setA + big + setA, 2*len(setA) + len(big), 2*len(setA) + len(big), true},
		"a transaction":          {multi + setA + end, len(multi + setA + end), len(multi + setA + end), true},
		"half a transaction":     {setA + multi + setA, len(setA), len(setA + multi + setA), true},
		"an annotation":          {"#TS:17\r\n" + setA, len("#TS:17\r\n" + setA), len("#TS:17\r\n" + setA), true},
		"half an annotation":     {setA + "#TS:1", len(setA), len(setA), false},
		"half a command":         {setA + setA[:20], len(setA), len(setA), false},
		"half a length":          {setA + "*3\r\n$1", len(setA), len(setA), false},
		"a large word, not all":  {setA + big[:5000], len(setA), len(setA), false},
		"zeros":                  {setA + strings.Repeat("\x00", 5000), len(setA), len(setA), false},
		"zeros in a transaction": {setA + multi + setA + "\x00\x00", len(setA), len(setA + multi + setA), false},
		"text":                   {setA + "garbage\r\n", len(setA), len(setA), false},
		"no count":               {setA + "*\r\n", len(setA), len(setA), false},
		"no words":               {setA + "*0\r\n", len(setA), len(setA), false},
		"a negative length":      {setA + "*1\r\n$-1\r\n", len(setA), len(setA), false},
		"a huge length":          {setA + "*1\r\n$99999999999\r\n", len(setA), len(setA), false},
		"a word without an end":  {setA + "*1\r\n$4\r\nPINGxx", len(setA), len(setA), false},
	} {
		good, bad, err := scan(bufio.NewReaderSize(strings.NewReader(test.text), 4096))
		if int(good) != test.good || int(bad) != test.bad || (err == nil) != test.whole || err != nil && !errors.Is(err, errNoCommand) {
			t.Errorf("%s: good %d, bad %d, %v; want %d, %d", name, good, bad, err, test.good, test.bad)
		}
	}
}

// The file of a server that was stopped gets an end. What was answered before is there at the next start, and what was cut
// off is kept, unless Redis itself knows how to cut it off.
func TestGarbageAtTheEndIsCutOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  string
		kept bool
	}{
		"zeros":                        {strings.Repeat("\x00", 4096), true},
		"text":                         {"garbage", true},
		"half a command":               {setA[:20], false},
		"a command that turns to zero": {setA[:20] + strings.Repeat("\x00", 100), true},
		"half a transaction":           {multi + setA, false},
		"a transaction that breaks":    {multi + setA + "\x00\x00\x00", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openServer(t, dir, nil)
			s.set("k", "v")
			s.stop()
			path := filepath.Join(dir, "redis/appendonlydir/appendonly.aof.1.incr.aof")
			before := appendTo(t, path, test.end)
			for range 2 { // the second start has nothing to mend
				s := openServer(t, dir, nil)
				if got := s.get("k"); got != "v" {
					t.Errorf("found %q", got)
				}
				if got := s.get("a"); got != "" {
					t.Errorf("found %q, which was never answered", got)
				}
				s.stop()
			}
			kept, err := filepath.Glob(filepath.Join(dir, "redis/cut-*"))
			if err != nil || (len(kept) == 1) != test.kept {
				t.Fatalf("kept %v, %v", kept, err)
			}
			if test.kept {
				if got := read(t, kept[0]); string(got) != test.end {
					t.Errorf("kept %q", got)
				}
			}
			if after := read(t, path); !bytes.Equal(after, before) {
				t.Errorf("%d bytes became %d", len(before), len(after))
			}
		})
	}
}

// appendTo adds to a file and returns what it held before.
func appendTo(t *testing.T, path, text string) (before []byte) {
	t.Helper()
	before = read(t, path)
	if err := os.WriteFile(path, append(bytes.Clone(before), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	return before
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What follows damage may have been answered: nothing is cut off then, nor if the damage is too large to be an end.
func TestDamageInTheMiddleIsNotCutOff(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{
		"a command follows": "\x00\x00" + setA,
		"too large":         strings.Repeat("\x00", longestCut+1),
	} {
		dir := t.TempDir()
		s := openServer(t, dir, nil)
		s.set("k", "v")
		s.stop()
		path := filepath.Join(dir, "redis/appendonlydir/appendonly.aof.1.incr.aof")
		appendTo(t, path, tail)
		damaged := read(t, path)
		refused(t, Options{Dir: dir}, "Bad file format", path, "restore a backup")
		if !bytes.Equal(read(t, path), damaged) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestNothingToRepair(t *testing.T) {
	t.Parallel()
	if cut, err := repair(t.TempDir()); cut != nil || err != nil {
		t.Errorf("%v, %v", cut, err)
	}
}
