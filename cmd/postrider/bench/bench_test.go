package bench_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"postrider/cmd/postrider/bench"
)

// tiny is enough to see that everything is measured.
func tiny(server, floor string) bench.Options {
	return bench.Options{Server: server, Project: "demo", Floor: floor, Runs: 2, Time: 50 * time.Millisecond, Messages: 200}
}

// measuredRows are the names of the rows with a pair from every run. All figures in them must be sensible.
func measuredRows(t *testing.T, report bench.Report, fsync string) []string {
	t.Helper()
	var names []string
	for _, row := range report.Rows {
		if row.Fsync != fsync || len(row.Pairs) == 0 {
			continue
		}
		names = append(names, row.Name)
		if len(row.Pairs) != report.Of {
			t.Errorf("%s: %d pairs", row.Name, len(row.Pairs))
		}
		for _, p := range row.Pairs {
			if !(p.Server > 0) || p.Floor < 0 {
				t.Errorf("%s: %+v", row.Name, p)
			}
		}
	}
	return names
}

func TestRunWithoutRedis(t *testing.T) {
	t.Parallel()
	var steps []string
	o := tiny(memoryServer(t), startFloor(t))
	o.Progress = func(what string) { steps = append(steps, what) }
	report, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"single publishes, 64 connections", "messages in batches of 100", "pull + ack in batches of 100", "pushes to one endpoint",
		"publish to push at 1000/s, p50", "publish to push at 1000/s, p99",
	}
	if got := measuredRows(t, report, ""); !slices.Equal(got, want) {
		t.Errorf("measured %q", got)
	}
	if report.Runs != 2 || report.Redis != "" {
		t.Errorf("%+v", report)
	}
	first := []string{"run 1 of 2: single publishes, the floor", "run 1 of 2: single publishes"}
	if len(steps) != 2*2*5 || !slices.Equal(steps[:2], first) || steps[10] != "run 2 of 2: single publishes" {
		t.Errorf("progress was %q", steps)
	}
}

func TestRunWithRedis(t *testing.T) {
	t.Parallel()
	url, client := redisServer(t)
	if err := client.ConfigSet(t.Context(), "appendonly", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	var cpu struct {
		sync.Mutex
		used time.Duration
	}
	used := func() (time.Duration, error) {
		cpu.Lock()
		defer cpu.Unlock()
		cpu.used += time.Millisecond
		return cpu.used, nil
	}
	o := tiny(url, startFloor(t))
	o.Redis, o.Fsync, o.ServerCPU, o.FloorCPU = client, []string{"everysec", "always"}, used, used
	report, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, fsync := range o.Fsync {
		if got := measuredRows(t, report, fsync); len(got) != len(report.Rows)/2 {
			t.Errorf("%s: measured %q", fsync, got)
		}
	}
	var table strings.Builder
	if err := report.Write(&table); err != nil || strings.Contains(table.String(), "NaN") {
		t.Errorf("%v\n%s", err, &table)
	}
	if left, err := client.Keys(t.Context(), "bench-*").Result(); len(left) > 0 || err != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// Stopped in the second run, it has the first, and nothing of its own is left.
func TestRunIsStopped(t *testing.T) {
	t.Parallel()
	server := memoryServer(t)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	o := tiny(server, startFloor(t))
	o.Progress = func(what string) {
		if strings.HasPrefix(what, "run 2 of 2: latency") {
			time.AfterFunc(10*time.Millisecond, func() { stop(stopped) })
		}
	}
	report, err := bench.Run(ctx, o)
	if !errors.Is(err, stopped) || report.Runs != 1 {
		t.Errorf("%d runs, %v", report.Runs, err)
	}
	pairs := map[string]int{}
	for _, row := range report.Rows {
		pairs[row.Name] = len(row.Pairs)
	}
	if pairs["pushes to one endpoint"] != 2 || pairs["publish to push at 1000/s, p50"] != 1 {
		t.Errorf("measured %v", pairs)
	}
	for _, kind := range []string{"topics", "subscriptions"} {
		if got := get(t, server+"/v1/projects/demo/"+kind); got != "{}" {
			t.Errorf("left behind: %s", got)
		}
	}
}

func TestRunSaysWhatTheServerAnswered(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	_, err := bench.Run(t.Context(), tiny(s.URL, startFloor(t)))
	if err == nil || !strings.Contains(err.Error(), "PUT /v1/projects/demo/topics/bench-") || !strings.Contains(err.Error(), "404 Not Found") {
		t.Error(err)
	}
	if _, err := bench.Run(t.Context(), tiny("no URL", s.URL)); err == nil {
		t.Error("took what is no URL")
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, resp.Body); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
