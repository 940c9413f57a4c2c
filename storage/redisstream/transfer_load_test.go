//go:build load

package redisstream_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"postrider/storage/redisstream"
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

// A million messages go to a file and back.
func TestLoadBackupAMillionMessages(t *testing.T) {
	w := onStore(t, redistest.Start(t).URL())
	topic := w.topic("p", "topic")
	w.subscribe("p", "sub", topic, nil)
	for range 1_000_000 / batch {
		w.publish(topic, batch)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "backup"))
	w.ok(err)
	defer file.Close()
	start := time.Now()
	written, err := redisstream.Backup(t.Context(), w.url, file, quiet())
	w.ok(err)
	wrote := time.Since(start)
	info, err := file.Stat()
	w.ok(err)
	_, err = file.Seek(0, 0)
	w.ok(err)
	start = time.Now()
	restored, err := redisstream.Restore(t.Context(), file, redistest.Start(t).URL(), quiet())
	w.ok(err)
	t.Logf("wrote %d MB of %d in %v, restored in %v", info.Size()>>20, written.Bytes>>20, round(wrote), round(time.Since(start)))
	if restored.Messages != 1_000_000 || written.Bytes != restored.Bytes {
		t.Errorf("wrote %+v, restored %+v", written, restored)
	}
}
