package redisstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// scripts is a hook around each script that a store runs.
type scripts struct{ around func(run func() error) error }

func (h scripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return next(ctx, cmd)
		}
		err := h.around(func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

// redriven puts so many messages of a size back that were acked, half of them published before the time that it gives.
func (x *sub) redriven(n, size int) (middle time.Time) {
	x.Helper()
	var letters []subscriptions.RedriveLetter
	for half := range 2 {
		if half == 1 {
			middle = x.serverTime()
		}
		msgs := messages(n / 2)
		for i := range msgs {
			msgs[i].Data = append(msgs[i].Data, make([]byte, size)...)
		}
		for chunk := range slices.Chunk(msgs, max(1, min(1000, 5_000_000/size))) {
			_, err := x.store.Publish(x.Context(), x.topic, chunk)
			x.ok(err)
		}
		for range len(msgs) {
			if len(letters) == (half+1)*n/2 {
				break
			}
			ds := x.lease(1000)
			x.ack(ds...)
			for _, d := range ds {
				letters = append(letters, subscriptions.RedriveLetter{
					Message: d.Message, Topic: "dead", ID: subscriptions.NewMessageID(1, int64(len(letters)+1), 1),
				})
			}
		}
	}
	for chunk := range slices.Chunk(letters, max(1, min(100, 5_000_000/size))) {
		fates, err := x.store.Redrive(x.Context(), subscriptions.RedriveRequest{Ref: x.ref, Rules: x.rules, Letters: chunk})
		x.ok(err)
		for _, fate := range fates {
			if fate != subscriptions.RedriveThere {
				x.Fatalf("fate %v", fate)
			}
		}
	}
	return middle
}

// serverTime is a time of Redis's clock that is later than any until now, and not earlier than any from now on.
func (x *sub) serverTime() time.Time {
	x.Helper()
	now := func() time.Time {
		at, err := x.store.Client().Time(x.Context()).Result()
		x.ok(err)
		return at.Truncate(time.Millisecond)
	}
	was := now()
	for at := was; ; at = now() {
		if at.After(was) {
			return at
		}
	}
}

func (x *sub) seek(r subscriptions.SeekRequest) subscriptions.SeekResult {
	x.Helper()
	r.Ref = x.ref
	result, err := x.store.Seek(x.Context(), r)
	x.ok(err)
	return result
}

func (x *sub) takeSnapshot(uid string) {
	x.Helper()
	ref := subscriptions.SnapshotRef{Topic: x.ref.Topic, Snapshot: uid, Revision: 1}
	_, err := x.store.TakeSnapshot(x.Context(), x.ref, ref, subscriptions.SnapshotName{Project: "p", ID: uid})
	x.ok(err)
}

// contents are how many redriven messages each key holds that has their contents.
func contents(t *testing.T, client redis.UniversalClient, prefix string) map[string]int64 {
	t.Helper()
	lengths := map[string]int64{}
	for _, key := range client.Keys(t.Context(), prefix+"*").Val() {
		if strings.Contains(key, "letters:") || strings.Contains(key, "brought:") {
			lengths[key] = client.HLen(t.Context(), key).Val()
		}
	}
	return lengths
}

// TestSeeksAreBounded: however many redriven messages a seek changes or a snapshot holds, and however large they are, one
// script calls no more commands, and moves no more of them, than for a few hundred.
func TestSeeksAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ n, size int }{"small messages": {3000, 10}, "large messages": {30, 300_000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const mostMessages, mostCommands = 200, 700
			server := redistest.Start(t)
			s := open(t, server.URL(), redisstream.Options{})
			x := attach(t, s, "topic")
			middle := x.redriven(c.n, c.size)
			mostChange := int64(min(mostMessages, 1_000_000/c.size+1))
			watcher := open(t, server.URL(), redisstream.Options{}).Client()
			steps := 0
			s.Client().AddHook(scripts{func(run func() error) error {
				before, calls := contents(t, watcher, ""), server.CommandCalls(t)
				err := run()
				now := contents(t, watcher, "")
				steps++
				if n := server.CommandCalls(t).Since(calls).Total(); n > mostCommands {
					t.Errorf("step %d called %d commands", steps, n)
				}
				var more int64 // what was renamed was not copied, and what was dropped as a whole cost nothing
				for key, n := range now {
					if more += n - before[key]; before[key]-n > mostChange {
						t.Errorf("step %d took %d messages from %s", steps, before[key]-n, key)
					}
				}
				for key, n := range before {
					if _, ok := now[key]; !ok {
						more -= n
					}
				}
				if more > mostChange {
					t.Errorf("step %d copied %d messages", steps, more)
				}
				return err
			}})
			step := func(what string, do func()) {
				steps = 0
				do()
				t.Logf("%s: %d scripts", what, steps)
			}
			step("ask", func() {
				if got := x.seek(subscriptions.SeekRequest{Time: middle, ValidateOnly: true}); got.Acked != int64(c.n/2) {
					t.Errorf("it would change %+v", got)
				}
			})
			step("snapshot", func() { x.takeSnapshot("snap") })
			step("seek", func() { x.seek(subscriptions.SeekRequest{Time: middle}) })
			if stats := x.stats(); stats.Undelivered != int64(c.n/2) || stats.Bytes < int64(c.n/2*c.size) || stats.Bytes > int64(c.n/2*(c.size+20)) {
				t.Errorf("after the seek: %+v", stats)
			}
			step("restore", func() { x.seek(subscriptions.SeekRequest{Snapshot: "snap"}) })
			if stats := x.stats(); stats.Undelivered != int64(c.n) || stats.Bytes < int64(c.n*c.size) {
				t.Errorf("after the restore: %+v", stats)
			}
			step("seek past all", func() { x.seek(subscriptions.SeekRequest{Time: time.Now().Add(time.Hour)}) })
			if stats := x.stats(); stats.Undelivered != 0 || stats.Bytes != 0 {
				t.Errorf("after a seek past all: %+v", stats)
			}
		})
	}
}

// TestCrashInASeek: a server that is killed between two steps of a seek or a snapshot leaves nothing half done. The next step of
// any other goes on.
func TestCrashInASeek(t *testing.T) {
	t.Parallel()
	const n = 1000
	crashed := errors.New("the server was killed")
	url := redistest.Shared(t).URL()
	// The store that is killed, and the one that goes on, are two servers of one Redis.
	begin := func(t *testing.T) (killed, other *sub, middle time.Time) {
		prefix := redisstream.Options{Prefix: fmt.Sprintf("test-%x:", rand.Uint64())}
		killed = attach(t, open(t, url, prefix), "topic")
		middle = killed.redriven(n, 10)
		other = attach(t, open(t, url, prefix), "topic")
		steps := 0
		killed.store.Client().AddHook(scripts{func(run func() error) error {
			if steps == 2 {
				return crashed
			}
			err := run()
			if !redis.HasErrorPrefix(err, "NOSCRIPT") {
				steps++
			}
			return err
		}})
		return killed, other, middle
	}
	fails := func(err error) {
		t.Helper()
		if !errors.Is(err, crashed) {
			t.Errorf("it was not killed: %v", err)
		}
	}
	t.Run("seek", func(t *testing.T) {
		t.Parallel()
		killed, other, middle := begin(t)
		_, err := killed.store.Seek(t.Context(), subscriptions.SeekRequest{Ref: killed.ref, Time: middle})
		fails(err)
		if stats := other.stats(); stats.Undelivered != n/2 {
			t.Errorf("after the crash: %+v", stats)
		}
		other.drained(n/2, func(m subscriptions.Message) bool { return !m.PublishTime().Before(middle) })
	})
	t.Run("snapshot", func(t *testing.T) {
		t.Parallel()
		killed, other, _ := begin(t)
		snap := subscriptions.SnapshotRef{Topic: "topic", Snapshot: "snap", Revision: 1}
		_, err := killed.store.TakeSnapshot(t.Context(), killed.ref, snap, subscriptions.SnapshotName{Project: "p", ID: "snap"})
		fails(err)
		gone := other.lease(100)
		other.ack(gone...)
		other.takeSnapshot("snap") // who finishes it takes it as of then
		other.drained(n-100, func(subscriptions.Message) bool { return true })
		other.seek(subscriptions.SeekRequest{Snapshot: "snap"})
		other.drained(n-100, func(subscriptions.Message) bool { return true })
	})
	t.Run("restore", func(t *testing.T) {
		t.Parallel()
		killed, other, _ := begin(t)
		other.takeSnapshot("snap")
		other.drained(n, func(subscriptions.Message) bool { return true })
		_, err := killed.store.Seek(t.Context(), subscriptions.SeekRequest{Ref: killed.ref, Snapshot: "snap"})
		fails(err)
		if stats := other.stats(); stats.Undelivered+stats.Outstanding != 0 {
			t.Errorf("after the crash: %+v", stats)
		}
		other.seek(subscriptions.SeekRequest{Snapshot: "snap"})
		other.drained(n, func(subscriptions.Message) bool { return true })
		client := other.store.Client()
		for key := range contents(t, client, other.store.Prefix()) {
			if strings.Contains(key, "brought:") && client.TTL(t.Context(), key).Val() <= 0 {
				t.Errorf("%s stays", key)
			}
		}
	})
}

// drained leases and acks all there is: so many messages, each of which is one of those that may come.
func (x *sub) drained(n int, may func(subscriptions.Message) bool) {
	x.Helper()
	for more := true; more; {
		result := x.leaseResult(200)
		for _, d := range result.Deliveries {
			if n--; !may(d.Message) {
				x.Errorf("%s of %v came", d.Message.ID, d.Message.PublishTime())
			}
		}
		x.ack(result.Deliveries...)
		more = result.More || len(result.Deliveries) > 0
	}
	if stats := x.stats(); n != 0 || stats.Undelivered+stats.Outstanding+stats.Bytes != 0 {
		x.Errorf("%d did not come; then %+v", n, stats)
	}
}
