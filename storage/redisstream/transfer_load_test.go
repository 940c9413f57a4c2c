//go:build load

package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redistest"
)

// Moving a million messages under publishers and pullers loses none and keeps the order of each subscription.
func TestLoadMigrateAMillionMessages(t *testing.T) {
	report := runLiveMove(t, redistest.Start(t).URL(), redistest.Start(t).URL(), 2, 500_000)
	if report.Messages < 900_000 {
		t.Errorf("only %d messages were moved", report.Messages)
	}
	if report.Frozen > 5*time.Second {
		t.Errorf("the first topic was frozen for %v", report.Frozen)
	}
}
