package redisstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

func backup(t testing.TB, from string) ([]byte, redisstream.Report) {
	t.Helper()
	var file bytes.Buffer
	report, err := redisstream.Backup(t.Context(), from, &file, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), report
}

func restore(t testing.TB, file []byte, to string) redisstream.Report {
	t.Helper()
	report, err := redisstream.Restore(t.Context(), bytes.NewReader(file), to, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A backup of a store that nobody uses holds all of it.
func TestBackup(t *testing.T) {
	t.Parallel()
	w := onStore(t, emptyServer(t).URL())
	w.fill()
	before, stats := w.dump(), w.allStats()
	file, report := backup(t, w.url)
	w.same("source", w.dump(), before)
	checked, err := redisstream.CheckBackup(bytes.NewReader(file))
	w.ok(err)
	restored := restore(t, file, emptyServer(t).URL())
	if !restored.Verified || checked != report {
		t.Errorf("wrote %+v, found %+v, restored %+v", report, checked, restored)
	}
	restored.Verified = false
	if restored != report {
		t.Errorf("wrote %+v, restored %+v", report, restored)
	}
	to := onStore(t, emptyServer(t).URL())
	restore(t, file, to.url)
	to.same("target", loosely(to.dump()), loosely(before))
	to.subs, to.topics, to.held = w.subs, w.topics[:3], w.held
	if got := to.allStats(); !maps.Equal(got, stats) {
		t.Errorf("stats are\n%+v, not\n%+v", got, stats)
	}
	to.goesOn()
	if _, err := redisstream.Restore(t.Context(), bytes.NewReader(file), to.url, quiet()); err == nil || !strings.Contains(err.Error(), "restored here already") {
		t.Errorf("restored again: %v", err)
	}
}

// What has been moved can be backed up, too: nothing there changes any more.
func TestBackupOfFrozen(t *testing.T) {
	t.Parallel()
	w := onStore(t, emptyServer(t).URL())
	w.fill()
	migrate(t, w.url, emptyServer(t).URL())
	file, _ := backup(t, w.url)
	to := onStore(t, emptyServer(t).URL())
	restore(t, file, to.url)
	to.same("target", loosely(to.dump()), loosely(w.dump()))
}

// A file that is not whole is refused, with the place, and nothing is written.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	w := onStore(t, emptyServer(t).URL())
	w.fill()
	file, _ := backup(t, w.url)
	target := emptyServer(t)
	refuse := func(what string, damaged []byte, want string) {
		t.Helper()
		_, err := redisstream.CheckBackup(bytes.NewReader(damaged))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := 0; at < len(file); at += max(1, len(file)/25) {
		want := "damaged in record"
		if at < 19 {
			want = ""
		}
		refuse(fmt.Sprintf("cut off after %d bytes of %d", at, len(file)), file[:at], want)
		flipped := bytes.Clone(file)
		flipped[at] ^= 1 << (at % 8)
		refuse(fmt.Sprintf("a bit flipped at %d of %d", at, len(file)), flipped, "")
	}
	for at := max(0, len(file)-80); at < len(file); at += 7 {
		refuse(fmt.Sprintf("cut off after %d bytes of %d", at, len(file)), file[:at], "damaged in record")
	}
	for at := range 32 { // the head, and gzip's
		flipped := bytes.Clone(file)
		flipped[at] ^= 0xff
		refuse(fmt.Sprintf("a byte flipped at %d", at), flipped, "")
	}
	refuse("something more", append(bytes.Clone(file), 'x'), "damaged in record")
	refuse("another file", []byte("once upon a time\n"), "not a backup")
	refuse("a newer one", bytes.Replace(file, []byte("backup 1\n"), []byte("backup 2\n"), 1), "newer")
	cut := file[:len(file)*2/3]
	if _, err := redisstream.Restore(t.Context(), bytes.NewReader(cut), target.URL(), quiet()); err == nil || !strings.Contains(err.Error(), "ends too early") {
		t.Errorf("half a file is restored: %v", err)
	}
	if keys := target.Client(t).Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("%v were written", keys)
	}
}

// A restore that was killed anywhere goes on when it is started again.
func TestInterruptedRestore(t *testing.T) {
	t.Parallel()
	w := onStore(t, emptyServer(t).URL())
	w.fill()
	before := w.dump()
	file, _ := backup(t, w.url)
	target := emptyServer(t)
	steps := interruptedRestore(t, file, target.URL(), 1<<30)
	for at := int64(1); at < steps; at += max(1, steps/8) {
		w.ok(target.Client(t).FlushAll(t.Context()).Err())
		interruptedRestore(t, file, target.URL(), at)
		_, err := redisstream.Restore(t.Context(), bytes.NewReader(file), target.URL(), quiet())
		if err != nil && (at < steps*3/4 || !strings.Contains(err.Error(), "restored here already")) {
			t.Fatal(err)
		}
		to := onStore(t, target.URL())
		to.same(fmt.Sprintf("after step %d of %d", at, steps), loosely(to.dump()), loosely(before))
	}
	w.ok(target.Client(t).FlushAll(t.Context()).Err())
	interruptedRestore(t, file, target.URL(), steps/2)
	w.ok(redisstream.Discard(t.Context(), target.URL(), quiet()))
	if keys := target.Client(t).Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("%v are left", keys)
	}
}

func interruptedRestore(t testing.TB, file []byte, to string, at int64) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var steps atomic.Int64
	o := quiet()
	o.SetHook(atCommand(func(context.Context) {
		if steps.Add(1) == at {
			cancel()
		}
	}))
	if _, err := redisstream.Restore(ctx, bytes.NewReader(file), to, o); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return steps.Load()
}

// Whatever a record holds, reading it ends in an error or in what it says.
func FuzzBackupRecord(f *testing.F) {
	f.Add(byte('l'), "topic\x001-10000\x001000000000000000000000000100\x00data")
	f.Add(byte('k'), "topic\x00meta\x00h\x00-1\x00v\x001")
	f.Add(byte('s'), "topic\x00uid\x00name\x000\x00v\x001")
	f.Add(byte('o'), "topic\x00uid\x000000000000001-0000000000010000\x001\x006\x007\x001:0")
	f.Add(byte('r'), "project\x00t/topic\x001 uid 1 {}")
	f.Add(byte('e'), "1 2 3 4")
	f.Fuzz(func(t *testing.T, kind byte, text string) {
		file, err := redisstream.BackupOf(kind, strings.Split(text, "\x00"))
		if err != nil {
			t.Fatal(err)
		}
		report, err := redisstream.CheckBackup(bytes.NewReader(file))
		if err == nil && (report.Messages > 0 || report.Outstanding > 0) {
			t.Errorf("%q %q counts as %+v, while the backup says that there is nothing", kind, text, report)
		}
	})
}

// A backup of the first format can be restored for ever.
func TestOldBackup(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/backup-v1")
	if err != nil {
		t.Fatal(err)
	}
	to := onStore(t, emptyServer(t).URL())
	restore(t, file, to.url)
	name := func(project, id string) subscriptions.SubscriptionName {
		return subscriptions.SubscriptionName{Project: project, ID: id}
	}
	want := map[subscriptions.SubscriptionName]subscriptions.Stats{
		name("project", "dying"):   {Undelivered: 4, Outstanding: 7, Dead: 4, Bytes: 1974, Acked: 1, Nacked: 20},
		name("project", "letters"): {Undelivered: 3, Bytes: 641},
		name("shop", "hot"):        {Undelivered: 149, Outstanding: 2, Bytes: 2063, Acked: 51},
	}
	for sub := range want {
		to.subs = append(to.subs, sub)
	}
	if got := to.allStats(); !maps.Equal(got, want) {
		t.Errorf("stats are\n%+v, not\n%+v", got, want)
	}
}
