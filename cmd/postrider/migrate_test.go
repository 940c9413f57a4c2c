package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
)

// fill makes a topic with a subscription and n messages, of which two are leased.
func (c commandLine) fill(n int) {
	c.Helper()
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--ack-deadline", "600s")
	for left := n; left > 0; left -= 500 {
		args := []string{"publish", "orders"}
		for i := range min(left, 500) {
			args = append(args, fmt.Sprint("message ", i))
		}
		c.run(args...)
	}
	c.run("pull", "billing", "--max", "2")
}

// urlFile is a file that holds a URL.
func urlFile(t *testing.T, url string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(name, []byte(url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "@" + name
}

// row is what a table says under a name.
func row(t *testing.T, table, name string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` +(.*)$`).FindStringSubmatch(table)
	if m == nil {
		t.Fatalf("there is no %q in\n%s", name, table)
	}
	return m[1]
}

// A server's data directory is moved to a Redis while the server goes on, which then refuses to work, and another server goes
// on with what was moved.
func TestMigrateFromDataDirInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	server, addr := startServer(t, "--data-dir", dir)
	c := client(t, addr)
	c.fill(1500)
	to := redistest.Start(t)
	planned := c.run("migrate", "--data-dir", dir, "--to", to.URL(), "--validate-only")
	if row(t, planned, "messages") != "1,500" || !strings.Contains(planned, "can be moved") {
		t.Errorf("planned:\n%s", planned)
	}
	moved := c.run("migrate", "--data-dir", dir, "--to", urlFile(t, to.URL()))
	for name, want := range map[string]string{
		"topics": "1", "subscriptions": "1", "messages": "1,500", "outstanding": "2", "verified": "yes: read back and compared",
	} {
		if got := row(t, moved, name); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	if status, _, errors := c.try("", "publish", "orders", "late"); status != exitFailure || !strings.Contains(errors, "is being moved") {
		t.Errorf("a publish to the source: exit status %d, %s", status, errors)
	}
	if status, body := request(t, http.MethodGet, "http://"+addr+"/readyz", nil); status != 503 || !strings.Contains(body, "moved to another Redis") {
		t.Errorf("the server on the source is ready: %d %s", status, body)
	}
	next := startApp(t, func(c *Config) { c.RedisURL = to.URL() })
	if s := stats(t, next.store, "billing"); s.Outstanding != 2 || s.Undelivered != 1498 {
		t.Errorf("at the target: %+v", s)
	}
	server.signal(syscall.SIGTERM)
	server.wait()
	again := startProgram(t, nil, "serve", "--listen", "127.0.0.1:0", "--data-dir", dir)
	if status := again.wait(); status != exitFailure || !strings.Contains(again.errors.String(), "moved to another Redis") {
		t.Errorf("a server on the source: exit status %d, %s", status, again.errors.String())
	}
	if status, _, errors := c.try("", "migrate", "--data-dir", dir, "--abort"); status != exitFailure || !strings.Contains(errors, "--force") {
		t.Errorf("given up: exit status %d, %s", status, errors)
	}
	c.run("migrate", "--data-dir", dir, "--abort", "--force")
	_, addr = startServer(t, "--data-dir", dir)
	client(t, addr).run("publish", "orders", "again")
}

// A killed move goes on with the same command, and an interrupted one says so.
func TestKilledMigrate(t *testing.T) {
	t.Parallel()
	from, to := redistest.Start(t), redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = from.URL() })
	c := client(t, a.Addr())
	c.fill(60_000)
	args := []string{"migrate", "--from", from.URL(), "--to", to.URL()}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		before := entries(t, to)
		p := startProgram(t, nil, args...)
		eventually(t, func() error { // it copies
			if entries(t, to) > before {
				return nil
			}
			select {
			case <-p.ended:
				return nil
			default:
				return errNotYet
			}
		})
		_ = p.cmd.Process.Signal(signal) // unless it was quicker
		status, errors := p.wait(), p.errors.String()
		t.Logf("%v after %d entries: exit status %d", signal, entries(t, to), status)
		if signal == syscall.SIGINT && status != 0 && (status != 130 || !strings.Contains(errors, "Go on with the same command")) {
			t.Errorf("exit status %d: %s", status, errors)
		}
	}
	moved := c.run(args...)
	if row(t, moved, "messages") != "60,000" || row(t, moved, "outstanding") != "2" {
		t.Errorf("moved:\n%s", moved)
	}
}

// entries is how many messages a Redis has.
func entries(t *testing.T, redis *redistest.Server) (n int64) {
	t.Helper()
	client := redis.Client(t)
	for _, key := range client.Keys(t.Context(), "postrider:*:log").Val() {
		n += client.XLen(t.Context(), key).Val()
	}
	return n
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = redis.URL() })
	c := client(t, a.Addr())
	c.fill(700)
	file := filepath.Join(t.TempDir(), "backup")
	c.environ = append(c.environ, "POSTRIDER_REDIS_URL="+redis.URL())
	written := c.run("backup", file)
	if row(t, written, "messages") != "700" || row(t, written, "outstanding") != "2" {
		t.Errorf("written:\n%s", written)
	}
	var report transferReport
	if decode(t, c.run("restore", file, "--validate-only", "-o", "json"), &report); report.Messages != 700 || report.Outstanding != 2 {
		t.Errorf("%+v", report)
	}
	if status, _, errors := c.try("", "backup", file); status != exitFailure || !strings.Contains(errors, "is there already") {
		t.Errorf("written again: exit status %d, %s", status, errors)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	status, out, errors := c.try("", "backup", "-")
	if status != 0 || row(t, errors, "messages") != "700" {
		t.Errorf("to the standard output: exit status %d, %s", status, errors)
	}
	if _, err := redisstream.CheckBackup(strings.NewReader(out)); err != nil {
		t.Error(err)
	}
	if checked := c.run("restore", file, "--validate-only"); row(t, checked, "messages") != "700" {
		t.Errorf("checked:\n%s", checked)
	}
	if status, _, errors := c.try("", "restore", file); status != exitFailure || !strings.Contains(errors, "already holds data") {
		t.Errorf("restored where it is: exit status %d, %s", status, errors)
	}
	c.environ = nil
	dir := filepath.Join(t.TempDir(), "data")
	restored := c.run("restore", file, "--data-dir", dir)
	if row(t, restored, "messages") != "700" || !strings.HasPrefix(row(t, restored, "verified"), "yes") {
		t.Errorf("restored:\n%s", restored)
	}
	_, addr := startServer(t, "--data-dir", dir)
	if pulled := client(t, addr).run("pull", "billing", "--max", "1"); !strings.Contains(pulled, "message 2") {
		t.Errorf("pulled:\n%s", pulled)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged")
	if err := os.WriteFile(damaged, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, errors = c.try("", "restore", damaged, "--data-dir", filepath.Join(t.TempDir(), "data"))
	if status != exitFailure || !strings.Contains(errors, "ends too early") {
		t.Errorf("half a file is restored: exit status %d, %s", status, errors)
	}
}

func TestMigrateFlags(t *testing.T) {
	t.Parallel()
	c := commandLine{T: t}
	for _, args := range [][]string{
		{"migrate"},
		{"migrate", "--from", "redis://h"},
		{"migrate", "--to", "redis://h"},
		{"migrate", "--from", "http://h", "--to", "redis://h"},
		{"migrate", "--from", "@/does/not/exist", "--to", "redis://h"},
		{"migrate", "--from", "redis://h", "--data-dir", "d", "--to", "redis://h"},
		{"migrate", "--from", "redis://h", "--to", "redis://h", "--force"},
		{"migrate", "--from", "redis://h", "--to", "redis://h", "--abort"},
		{"migrate", "--from", "redis://h", "--discard", "--to", "redis://h"},
		{"migrate", "--from", "redis://h", "--to", "redis://h", "--abort", "--validate-only"},
		{"backup", "x"},
		{"backup", "--redis-url", "redis://h"},
		{"restore", "/does/not/exist-either"},
	} {
		if status, _, errors := c.try("", args...); status != exitUsage && args[0] != "restore" || strings.Contains(errors, "panic") {
			t.Errorf("%v: exit status %d, %s", args, status, errors)
		}
	}
}

func TestProgressBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := newProgressBar(&out, (&redisstream.Progress{}).Now)
	start := time.Now()
	now := redisstream.ProgressNow{Stage: "copying", Messages: 2_000_000, Topics: 3}
	b.show(now, start)
	now.MessagesDone, now.TopicsDone = 500_000, 1
	b.show(now, start.Add(5*time.Second))
	b.show(now, start.Add(10*time.Second))
	want := "copying  0 %  0 of 3 topics  0 of 2,000,000 messages\n" +
		"copying  25 %  1 of 3 topics  500,000 of 2,000,000 messages  50,000 a second  30s left\n"
	if out.String() != want {
		t.Errorf("lines are\n%s", out.String())
	}
	line := "copying  [######..................]  25 %  1 of 3 topics  500,000 of 2,000,000 messages  50,000 a second  30s left"
	if got := b.text(now, start.Add(10*time.Second), 200); got != line {
		t.Errorf("the bar is\n%s", got)
	}
	if got := b.text(now, start.Add(10*time.Second), 40); got != line[:40] {
		t.Errorf("the bar is\n%s", got)
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -123: "-123", 100000: "100,000"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}
