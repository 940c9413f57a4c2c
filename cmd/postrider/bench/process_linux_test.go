package bench

import (
	"os"
	"testing"
	"time"
)

func TestProcessCPU(t *testing.T) {
	t.Parallel()
	const line = "12 (a (b) c 1 2) S 1 2 3 4 -1 0 10 11 12 13 150 27 1 2 20 0 1 0 99"
	if got, err := parseStat(line); err != nil || got != 1770*time.Millisecond {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseStat("12 (a) S 1"); err == nil {
		t.Error("took a line without times")
	}
	if _, err := ProcessCPU(os.Getpid())(); err != nil {
		t.Error(err)
	}
}
