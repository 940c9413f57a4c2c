package private

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// formatVersion is the version of the folder's layout. What Redis stores has a version of its own, which the store checks.
const formatVersion = "1"

// checkFormat refuses a folder of another version, and one that is somebody else's. An empty one is marked as ours.
func (f *folder) checkFormat() error {
	text, err := os.ReadFile(filepath.Join(f.dir, formatName))
	if errors.Is(err, os.ErrNotExist) {
		if err := f.checkEmpty(); err != nil {
			return err
		}
		return f.writeFormat()
	}
	if err != nil {
		return err
	}
	if version := strings.TrimSpace(string(text)); version != formatVersion {
		return fmt.Errorf("the format of this folder is %q, but this Postrider knows only %q: a newer one wrote it", version, formatVersion)
	}
	return nil
}

// mayBeThere are the names that an empty folder may hold: ours from before it is marked, and what a new disk brings.
var mayBeThere = []string{lockName, redisLockName, formatName + ".new", "lost+found"}

// checkEmpty keeps us from spreading files in a folder that was named by mistake.
func (f *folder) checkEmpty() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(mayBeThere, entry.Name()) {
			return fmt.Errorf("it holds %s, and no data of Postrider: name a folder that is empty or not there yet", entry.Name())
		}
	}
	return nil
}

// writeFormat puts the mark there whole or not at all, also when the power fails.
func (f *folder) writeFormat() error {
	path := filepath.Join(f.dir, formatName)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(formatVersion + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(f.dir)
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
