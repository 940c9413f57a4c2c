package redistest

import (
	"os/exec"
	"testing"
	"time"
)

// patience bounds every wait in this package. It is long because test machines stall; nothing sleeps for it.
const patience = 30 * time.Second

// binary is where redis-server is. Without it tests fail rather than skip.
func binary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("redistest: redis-server is not on PATH (%v). scripts/test installs what the tests need.", err)
	}
	return path
}
