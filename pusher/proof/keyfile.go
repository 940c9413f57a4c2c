package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"postrider/subscriptions"
)

// othersMay are the permissions that nobody but the file's owner may have, but
// for reading by its group, which is how a container gets at a secret.
const othersMay fs.FileMode = 0o027

// maxKeyFile bounds what is read of a file.
const maxKeyFile = 1 << 20

// KeyFile is a KeyRing in a file, for keys that are to be in no store. Servers
// may share it on a common disk. Two that replace the text in the same moment
// may lose one of the two new keys, which does no harm: it was to sign only
// long after both have read what is left.
type KeyFile string

// SigningKeys implements KeyRing. A file that others may read, or change, is
// refused.
func (f KeyFile) SigningKeys(context.Context) (string, error) {
	return readPrivate(string(f))
}

// ReplaceSigningKeys implements KeyRing. The file has the old text or the new
// one whatever happens.
func (f KeyFile) ReplaceSigningKeys(ctx context.Context, was, next string) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(string(f)), ".postrider-keys-*") // for its owner alone
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(temporary.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	_, err = temporary.WriteString(next)
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if was == "" {
		err := os.Link(temporary.Name(), string(f)) // fails when the file is there by now
		if errors.Is(err, fs.ErrExist) {
			return f.replacedMeanwhile()
		}
		return err
	}
	present, err := f.SigningKeys(ctx)
	if err != nil {
		return err
	}
	if present != was {
		return f.replacedMeanwhile()
	}
	return os.Rename(temporary.Name(), string(f))
}

func (f KeyFile) replacedMeanwhile() error {
	return subscriptions.Errorf(subscriptions.Aborted, "another server replaced %s", string(f))
}

// readPrivate reads a file with a private key in it, if it is private; empty
// when there is none.
func readPrivate(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", name)
	case info.Size() == 0 || info.Size() > maxKeyFile:
		return "", fmt.Errorf("%s has %d bytes: remove it, and it is made anew", name, info.Size())
	case runtime.GOOS != "windows" && info.Mode().Perm()&othersMay != 0:
		return "", fmt.Errorf("%s holds private keys, and its permissions %#o let others have them: chmod 600 %s", name, info.Mode().Perm(), name)
	}
	text, err := os.ReadFile(name)
	return string(text), err
}
