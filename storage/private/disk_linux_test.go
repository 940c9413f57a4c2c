package private

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// smallDisk is a disk of a few megabytes, which only root can have.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Skipf("no small disk can be mounted here, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil { // a child that Redis forked may take a moment longer
			t.Error(err)
		}
	})
	return dir
}

// Before the disk is full, writers are refused as they are by a full memory, and Redis lives. Draining goes on, makes room, and
// lets the writers in again.
func TestDiskFillsUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(smallDisk(t, 16), "data")
	s := openServer(t, dir, func(o *Options) { o.MaxMemory = 1 << 30 })
	before := s.pid()
	list := newWriters(client(t, s.URL()))
	load := errgroup.Group{}
	for _, w := range list {
		load.Go(func() error { return w.write(t.Context(), func(*writer) {}) })
	}
	if err := load.Wait(); err == nil || !strings.HasPrefix(err.Error(), "OOM ") {
		t.Fatalf("the writers ended with %v", err)
	}
	eventually(t, func() error {
		if status := s.Status(); !status.Up || len(status.Warnings) != 1 || !strings.Contains(status.Warnings[0], "the disk of "+dir+" has ") {
			return fmt.Errorf("full, but %+v; written on until %w", status, list[0].write(t.Context(), func(*writer) {}))
		}
		return nil // else there was less data than it seemed, and so was more room
	})
	c := client(t, s.URL())
	for _, w := range list {
		if found, err := w.found(t.Context()); err != nil || found < w.acked.Load() || found == 0 {
			t.Errorf("%s: found %d of %d: %v", w.key, found, w.acked.Load(), err)
		}
		for c.XLen(t.Context(), w.key).Val() > 0 { // in small steps, as acknowledgements are
			if err := c.Do(t.Context(), "XTRIM", w.key, "MAXLEN", max(0, c.XLen(t.Context(), w.key).Val()-50)).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, func() error { return c.Set(t.Context(), "k", "v", 0).Err() })
	if status := s.Status(); !status.Up || len(status.Warnings) > 0 {
		t.Errorf("drained, but %+v", status)
	}
	if s.pid() != before {
		t.Error("redis-server was started again")
	}
}

// Somebody else fills the disk. Redis ends at its first write, since it must not answer. When there is room again, so is it,
// with all that was answered.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	const size = 32 // so much that what the writers get in beforehand, on a slow machine, leaves enough once the ballast goes
	disk := smallDisk(t, size)
	var l log
	s := openServer(t, filepath.Join(disk, "data"), func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&l, nil)) })
	list := newWriters(client(t, s.URL()))
	ctx, stop := context.WithCancel(t.Context())
	load := errgroup.Group{}
	for _, w := range list {
		load.Go(func() error { return writeThroughDeaths(ctx, w) })
	}
	eventually(t, func() error {
		if acked := list[0].acked.Load(); acked < 5*pipeline {
			return fmt.Errorf("%d answered", acked)
		}
		return nil
	})
	c := client(t, s.URL())
	if _, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range 10_000 {
			p.XAdd(t.Context(), &redis.XAddArgs{Stream: "spare", ID: fmt.Sprintf("%d-0", i+1), Values: []string{"d", ""}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(disk, "ballast")
	full := time.Now()
	if err := os.WriteFile(ballast, make([]byte, size<<20), 0o600); err == nil {
		t.Fatal("there is room for all")
	}
	number := 1
	eventually(t, func() error { // deleting is not refused, and must be written
		for c.XDel(t.Context(), "spare", fmt.Sprintf("%d-0", number)).Err() == nil {
			number++
		}
		if why := s.Status().Why; !strings.Contains(why, "AOF write error") || !strings.Contains(why, "the disk of ") {
			return fmt.Errorf("after %d writes %+v; logged %q", number, s.Status(), l.lines())
		}
		return nil
	})
	if lines := l.lines(); len(lines) > 2+int(time.Since(full)/time.Second) {
		t.Errorf("%d lines in %v: %q", len(lines), time.Since(full), lines)
	}
	freed := time.Now()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	goal := list[0].acked.Load() + pipeline
	eventually(t, func() error {
		if acked := list[0].acked.Load(); acked < goal {
			return fmt.Errorf("%d of %d answered; %+v", acked, goal, s.Status())
		}
		return nil
	})
	took := time.Since(freed)
	stop()
	if err := load.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		if found, err := w.found(t.Context()); err != nil || found < w.acked.Load() {
			t.Errorf("%s: found %d of %d: %v", w.key, found, w.acked.Load(), err)
		}
	}
	t.Logf("back %v after there was room; %s", took, strings.Join(l.lines(), "\n"))
	if took > backWithin {
		t.Errorf("back only %v after there was room", took)
	}
}

// With everysec Redis lives on a full disk and refuses all writes, until there is room.
func TestDiskIsFullForEverySec(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 8)
	s := openServer(t, filepath.Join(disk, "data"), func(o *Options) { o.AppendFsync = FsyncEverySec })
	before := s.pid()
	c := client(t, s.URL())
	number := 0
	write := func() (err error) {
		for range 100 {
			if err = c.HDel(t.Context(), "hash", fmt.Sprint(number)).Err(); err != nil {
				return err
			}
			number++
		}
		return nil
	}
	fields := map[string]any{}
	for i := range 20_000 {
		fields[fmt.Sprint(i)] = "v"
	}
	if err := c.HSet(t.Context(), "hash", fields).Err(); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("there is room for all")
	}
	eventually(t, func() error {
		if err := write(); err == nil || !strings.HasPrefix(err.Error(), "MISCONF") {
			return fmt.Errorf("%d written, %v; %+v", number, err, s.Status())
		}
		return nil
	})
	if status := s.Status(); !status.Up || len(status.Warnings) != 1 {
		t.Errorf("full, but %+v", status)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	freed := time.Now()
	eventually(t, write)
	if took := time.Since(freed); took > backWithin {
		t.Errorf("back only %v after there was room", took)
	}
	if s.pid() != before {
		t.Error("redis-server was started again")
	}
	s.stop()
	again := openServer(t, filepath.Join(disk, "data"), nil)
	if length, err := client(t, again.URL()).HLen(t.Context(), "hash").Result(); err != nil || length != int64(20_000-number) {
		t.Errorf("%d fields, %v; %d of 20000 were deleted", length, err, number)
	}
}
