package private

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Redis itself cuts off half a command at the end of its append-only file, and refuses a file with anything else in it. After
// a power failure some disks have other bytes there, most often zeros, where a write was under way that was never answered.
// Those are cut off here, but only if no command follows them: else they are not an end, and what follows may be dear.

// The names that Redis gives its files.
const (
	appendDir    = "appendonlydir"
	manifestName = "appendonly.aof.manifest"
)

// longestCut bounds what is taken for an end.
const longestCut = 16 << 20

// cutting is what was cut off.
type cutting struct {
	file  string
	bytes int64
	kept  string // the file with what was cut off
}

// repair cuts off what is no command at the end of the append-only file in dir. It returns nil if there is no such thing.
func repair(dir string) (*cutting, error) {
	path, err := lastFile(filepath.Join(dir, appendDir))
	if err != nil || path == "" {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	good, bad, err := scan(bufio.NewReaderSize(f, 1<<20))
	if !errors.Is(err, errNoCommand) {
		return nil, err
	}
	end, err := io.ReadAll(io.NewSectionReader(f, good, longestCut+1))
	if err != nil {
		return nil, err
	}
	if len(end) > longestCut || commandStart.Match(end[bad-good+1:]) {
		return nil, fmt.Errorf("%s is damaged at byte %d, and more follows: restore a backup, or see what redis-check-aof says", path, bad)
	}
	c := &cutting{file: path, bytes: int64(len(end)), kept: filepath.Join(dir, fmt.Sprintf("cut-%s-%d", filepath.Base(path), good))}
	if err := keep(c.kept, end); err != nil {
		return nil, err
	}
	return c, errors.Join(f.Truncate(good), f.Sync())
}

func keep(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// lastFile is the one that Redis appended to, after its manifest; empty if there is none.
func lastFile(dir string) (string, error) {
	manifest, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return "", err
	}
	name := ""
	for line := range strings.Lines(string(manifest)) {
		// file NAME seq NUMBER type i
		if words := strings.Fields(line); len(words) == 6 && words[5] == "i" {
			name = filepath.Join(dir, filepath.Base(words[1]))
		}
	}
	return name, nil
}
