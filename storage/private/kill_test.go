//go:build linux || darwin

package private

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const kills = 20

// generation is a server in a process of its own that writes until it is killed.
type generation struct {
	cmd    *exec.Cmd
	output *bufio.Scanner
	errors strings.Builder
	redis  int            // the process number of its redis-server
	found  [writers]int64 // what it found
	acked  [writers]int64 // what it was answered
}

func startGeneration(t *testing.T, dir string) *generation {
	t.Helper()
	g := &generation{cmd: exec.Command(os.Args[0])}
	g.cmd.Env = append(os.Environ(), writerFolder+"="+dir)
	g.cmd.Stderr = &g.errors
	output, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.output = bufio.NewScanner(output)
	if !g.output.Scan() {
		t.Fatalf("the server said nothing: %v %s", g.cmd.Wait(), g.errors.String())
	}
	if _, err := fmt.Sscanf(g.output.Text(), "ready %d %d %d %d %d", &g.redis, &g.found[0], &g.found[1], &g.found[2], &g.found[3]); err != nil {
		t.Fatalf("%s: %v", g.output.Text(), err)
	}
	return g
}

// next reads what was answered next. It returns false once the process has ended, and all it said was read.
func (g *generation) next() bool {
	if !g.output.Scan() {
		return false
	}
	var w int
	var number int64
	if n, _ := fmt.Sscanf(g.output.Text(), "acked %d %d", &w, &number); n == 2 { // the last line may be cut
		g.acked[w] = number
	}
	return true
}

// kill ends the server as kill -9 does, reads what it said until then, and returns when its redis-server is gone too.
func (g *generation) kill(t *testing.T) (took time.Duration) {
	t.Helper()
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for g.next() {
	}
	_ = g.cmd.Wait()
	eventually(t, func() error {
		if !gone(g.redis) {
			return fmt.Errorf("the redis-server outlives its server")
		}
		return nil
	})
	return time.Since(killed)
}

// gone tells whether a process has ended, also if nobody has asked yet how.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(status), ") Z ")
}

func TestKilledParentLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var acked [writers]int64
	var longestGone, longestAway time.Duration
	killed := time.Now()
	for i := range kills {
		g := startGeneration(t, dir)
		if away := time.Since(killed); i > 0 {
			longestAway = max(longestAway, away)
		}
		for w := range writers {
			if g.found[w] < acked[w] {
				t.Fatalf("writer %d: found %d entries although %d were answered", w, g.found[w], acked[w])
			}
		}
		for g.next() && g.acked[0] < g.found[0]+20*pipeline {
		}
		killed = time.Now()
		longestGone = max(longestGone, g.kill(t))
		acked = g.acked
	}
	t.Logf("%d kills, %v entries; the redis-server was gone within %v, the service back within %v", kills, acked, longestGone, longestAway)
	if longestAway > backWithin {
		t.Errorf("the service was away for %v", longestAway)
	}
}

func TestKilledChildLosesNothing(t *testing.T) {
	t.Parallel()
	s := openServer(t, t.TempDir(), func(o *Options) { o.MaxMemory = 1 << 30 })
	list := newWriters(client(t, s.URL()))
	writing, stop := context.WithCancel(t.Context())
	load, ctx := errgroup.WithContext(writing)
	for _, w := range list {
		load.Go(func() error { return writeThroughDeaths(ctx, w) })
	}
	// advance waits until a writer has got on by so many pipelines, or something was lost.
	advance := func(pipelines int64) {
		goal := list[0].acked.Load() + pipelines*pipeline
		eventually(t, func() error {
			if acked := list[0].acked.Load(); acked < goal && ctx.Err() == nil {
				return fmt.Errorf("%d of %d were answered; %+v", acked, goal, s.Status())
			}
			return nil
		})
	}
	var longest time.Duration
	for range kills {
		advance(10)
		p, _ := s.present()
		if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		killed := time.Now()
		advance(1)
		longest = max(longest, time.Since(killed))
	}
	stop()
	if err := load.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		if found, err := w.found(t.Context()); err != nil || found < w.acked.Load() {
			t.Errorf("%s: found %d of %d: %v", w.key, found, w.acked.Load(), err)
		}
	}
	t.Logf("%d kills; the service was back within %v", kills, longest)
	if longest > backWithin {
		t.Errorf("the service was away for %v", longest)
	}
}
