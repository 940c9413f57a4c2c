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

func TestRoomIsKept(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size, data, need int64
	}{
		{10 * mb, 0, 1 * mb},
		{10 * mb, 2 * mb, 4 * mb},
		{1000 * gb, 0, 256 * mb},
		{1000 * gb, 4 * gb, 6*gb + 256*mb},
	} {
		var r room
		for _, step := range []struct {
			free  int64
			tight bool
		}{
			{test.size, false}, {test.need, false}, {test.need - 1, true}, {0, true}, {test.need, true},
			{test.need*9/8 - 1, true}, {test.need * 9 / 8, false}, {test.need, false},
		} {
			r.data, r.freeThen = test.data, step.free
			r.update(step.free, test.size)
			if r.tight != step.tight || len(r.warnings("/dir")) > 0 != step.tight {
				t.Errorf("%+v, free %d: %+v", test, step.free, r)
			}
		}
	}
}

// Between two questions to Redis, what the disk loses may be data.
func TestNeedRisesAsTheDiskFills(t *testing.T) {
	t.Parallel()
	r := room{data: 2 * mb, freeThen: 90 * mb}
	r.update(80*mb, 100*mb)
	if got := r.need(); got != 10*mb+12*mb+6*mb {
		t.Errorf("needs %d", got)
	}
	r.update(95*mb, 100*mb)
	if got := r.need(); got != 10*mb+3*mb {
		t.Errorf("with more room needs %d", got)
	}
}

func TestNextLook(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]time.Duration{
		0: shortestLook, 200 * mb: shortestLook, 256 * mb: shortestLook, 506 * mb: time.Second / 2, 1000 * gb: longestLook,
	} {
		r := room{free: free, freeThen: free, reserve: 256 * mb}
		if got := r.nextLook(); got != want {
			t.Errorf("%d free: %v", free, got)
		}
	}
}

func TestWarning(t *testing.T) {
	t.Parallel()
	r := room{free: 3*mb + mb/10, reserve: 256 * mb, tight: true}
	const want = "the disk of /data has 3.1 MiB left, and needs 256.0 MiB to write the append-only file anew: publishes are refused until it has"
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
	short := room{free: 10 * mb, reserve: 4 * mb, data: 8 * mb, freeThen: 10 * mb}
	for name, test := range map[string]struct {
		file file
		room room
		due  bool
	}{
		"is new":               {file{size: 100, base: 90, data: 10 * kb}, ample, false},
		"has grown":            {file{size: 300 * mb, base: 140 * mb, data: 200 * mb}, ample, true},
		"is rewritten already": {file{size: 300 * mb, base: 140 * mb, data: 200 * mb, rewriting: true}, ample, false},
		"has not doubled":      {file{size: 300 * mb, base: 160 * mb, data: 200 * mb}, ample, false},
		"is small":             {file{size: 63 * mb, base: 1 * mb, data: 1 * mb}, ample, false},
		"would not fit":        {file{size: 300 * mb, base: 140 * mb, data: 9 * mb}, short, false},
		"frees much":           {file{size: 11 * mb, base: 10 * mb, data: 8 * mb}, short, true},
		"frees little":         {file{size: 10 * mb, base: 10 * mb, data: 8 * mb}, short, false},
		"is smaller than data": {file{size: 6 * mb, base: 10 * mb, data: 8 * mb}, short, false},
		"is almost empty":      {file{size: 100 * kb, base: 100, data: 10 * kb}, short, false},
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
