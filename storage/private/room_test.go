//go:build linux || darwin

package private

import (
	"strings"
	"testing"
	"time"
)

const (
	kb = 1 << 10
	mb = 1 << 20
	gb = 1 << 30
)

func TestReserve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size, reserve, whole int64
	}{
		{10 * mb, 1 * mb, 1*mb + 256*kb},
		{1000 * gb, 256 * mb, 320 * mb},
	} {
		var r room
		for _, step := range []struct {
			free  int64
			tight bool
		}{
			{test.size, false}, {test.reserve, false}, {test.reserve - 1, true}, {0, true}, {test.reserve, true},
			{test.whole - 1, true}, {test.whole, false}, {test.reserve, false},
		} {
			r.update(step.free, test.size)
			if r.tight != step.tight || len(r.warnings("/dir")) > 0 != step.tight {
				t.Errorf("size %d, free %d: %+v", test.size, step.free, r)
			}
		}
	}
}

func TestNextLook(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]time.Duration{
		0: shortestLook, 200 * mb: shortestLook, 256 * mb: shortestLook, 356 * mb: time.Second / 2, 1000 * gb: longestLook,
	} {
		r := room{free: free, reserve: 256 * mb}
		if got := r.nextLook(); got != want {
			t.Errorf("%d free: %v", free, got)
		}
	}
}

func TestWarning(t *testing.T) {
	t.Parallel()
	r := room{free: 3*mb + mb/10, reserve: 256 * mb, tight: true}
	const want = "the disk of /data has 3.1 MiB left, less than the reserve of 256.0 MiB: publishes are refused until there is more"
	if got := strings.Join(r.warnings("/data"), "\n"); got != want {
		t.Error(got)
	}
	for n, want := range map[int64]string{0: "0.0 KiB", 1536: "1.5 KiB", 5 * gb / 2: "2.5 GiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestDueForRewriting(t *testing.T) {
	t.Parallel()
	ample := room{free: 10 * gb, reserve: 256 * mb}
	tight := room{free: 10 * mb, reserve: 16 * mb, tight: true}
	for name, test := range map[string]struct {
		file file
		room room
		due  bool
	}{
		"new":                  {file{size: 100, base: 90, data: 10 * kb}, ample, false},
		"has grown":            {file{size: 300 * mb, base: 140 * mb, data: 200 * mb}, ample, true},
		"is rewritten already": {file{size: 300 * mb, base: 140 * mb, data: 200 * mb, rewriting: true}, ample, false},
		"has not doubled":      {file{size: 300 * mb, base: 160 * mb, data: 200 * mb}, ample, false},
		"is small":             {file{size: 63 * mb, base: 1 * mb, data: 1 * mb}, ample, false},
		"would not fit":        {file{size: 300 * mb, base: 140 * mb, data: 9 * mb}, tight, false},
		"frees a full disk":    {file{size: 20 * mb, base: 10 * mb, data: 8 * mb}, tight, true},
		"frees little":         {file{size: 15 * mb, base: 10 * mb, data: 8 * mb}, tight, false},
	} {
		if got := test.file.due(test.room); got != test.due {
			t.Errorf("a file that %s: %v", name, got)
		}
	}
}

func TestFileOfInfo(t *testing.T) {
	t.Parallel()
	s := openServer(t, t.TempDir(), nil)
	s.set("k", payload)
	info, err := s.child.Ask(t.Context(), "INFO memory persistence")
	if err != nil {
		t.Fatal(err)
	}
	f := fileOf(info)
	if f.size < int64(len(payload)) || f.size > 1000 || f.data < 1000 || f.data > mb || f.rewriting {
		t.Errorf("%+v", f)
	}
}
