package private

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDefaultMemory(t *testing.T) {
	t.Parallel()
	usable := UsableMemory()
	if usable < 64<<20 {
		t.Errorf("this machine has %d bytes", usable)
	}
	if got := defaultMemory(); got != usable/2 {
		t.Errorf("the default is %d of %d", got, usable)
	}
}

// TestLimitsOfGroups looks at control groups of version 2, as nested as systemd's and containers' are.
func TestLimitsOfGroups(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for group, limit := range map[string]string{"": "4000\n", "a": "max\n", "a/b": "3000\n"} {
		if err := os.MkdirAll(filepath.Join(root, group), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, group, "memory.max"), []byte(limit), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for group, want := range map[string]int64{"/": 4000, "/a": 4000, "/a/b": 3000, "/a/b/c": 3000, "/elsewhere": 4000, "": 4000} {
		if got := leastLimit(5000, root, group, "memory.max"); got != want {
			t.Errorf("%s: %d", group, got)
		}
	}
	if got := leastLimit(2000, root, "/a/b", "memory.max"); got != 2000 {
		t.Errorf("more than the machine has: %d", got)
	}
}
