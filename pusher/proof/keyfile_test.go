package proof

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"postrider/subscriptions"
)

func TestKeyFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "keys.json")
	f := KeyFile(name)
	has := func(want string) {
		t.Helper()
		if got, err := f.SigningKeys(t.Context()); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	replace := func(was, next string, want subscriptions.Code) {
		t.Helper()
		if err := f.ReplaceSigningKeys(t.Context(), was, next); want == "" && err != nil || want != "" && subscriptions.CodeOf(err) != want {
			t.Errorf("%q to %q: %v", was, next, err)
		}
	}
	has("")
	replace("", "first", "")
	has("first")
	replace("", "lost", subscriptions.Aborted)
	replace("other", "lost", subscriptions.Aborted)
	replace("first", "second", "")
	has("second")
	left, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
	if info, err := os.Stat(name); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
}

func TestOneOfManyMakesTheKeyFile(t *testing.T) {
	t.Parallel()
	f := KeyFile(filepath.Join(t.TempDir(), "keys.json"))
	var all sync.WaitGroup
	var made atomic.Int32
	for range 8 {
		all.Go(func() {
			if f.ReplaceSigningKeys(t.Context(), "", "keys") == nil {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

// Keys that others may read are no secret; who may write them can sign.
func TestAKeyFileOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions here")
	}
	name := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(name, []byte("keys"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{
		0o600: false, 0o400: false, 0o640: false, 0o644: true, 0o660: true, 0o604: true, 0o601: true, 0o666: true,
	} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		_, err := KeyFile(name).SigningKeys(t.Context())
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "chmod 600 "+name) {
			t.Errorf("%v: %v", mode, err)
		}
	}
	for _, wrong := range []string{filepath.Dir(name), "/dev/null"} {
		if _, err := KeyFile(wrong).SigningKeys(t.Context()); err == nil {
			t.Errorf("%s is taken for a file", wrong)
		}
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := KeyFile(name).SigningKeys(t.Context()); err == nil {
		t.Error("an empty file is taken for keys")
	}
}

// Servers that are given the same file have the same keys, also when one of them made them.
func TestServersShareAKeyFile(t *testing.T) {
	t.Parallel()
	f := KeyFile(filepath.Join(t.TempDir(), "keys.json"))
	first, second := NewKeys(f, quiet), NewKeys(f, quiet)
	for _, k := range []*Keys{first, second} {
		if err := k.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := published(t, first), published(t, second); a.Keys[0].KeyID != b.Keys[0].KeyID {
		t.Error("they have different keys")
	}
}
