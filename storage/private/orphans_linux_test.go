package private

import (
	"strings"
	"testing"
	"time"
)

// A fork that rewrites the append-only file outlives its server and its redis-server. It holds the lock that was handed down,
// and would for half a minute.
func TestOrphanedRewriteIsEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := startGeneration(t, dir)
	for g.next() && g.acked[0]*g.acked[1]*g.acked[2]*g.acked[3] == 0 { // each key is slow
	}
	c := client(t, socketURL(dir+"/redis/redis.sock"))
	if err := c.ConfigSet(t.Context(), "rdb-key-save-delay", "10000000").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return c.BgRewriteAOF(t.Context()).Err() }) // the first may be under way
	if info := c.Info(t.Context(), "persistence").Val(); !strings.Contains(info, "aof_rewrite_in_progress:1") {
		t.Fatalf("no rewrite is under way: %s", info)
	}
	g.kill(t)
	killed := time.Now()
	next := startGeneration(t, dir)
	if away := time.Since(killed); away > backWithin {
		t.Errorf("the service was away for %v", away)
	}
	if next.found[0] < g.acked[0] {
		t.Errorf("found %d entries although %d were answered", next.found[0], g.acked[0])
	}
	next.kill(t)
	if log := next.errors.String(); !strings.Contains(log, "ended what a killed server had left running") {
		t.Errorf("nothing was left running; logged %q", log)
	}
}
