package redisstream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

func migrate(t testing.TB, from, to string) redisstream.Report {
	t.Helper()
	report, err := redisstream.Migrate(t.Context(), from, to, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// All that a store keeps arrives as it was, whatever kinds of Redis the two are.
func TestMigrate(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	for _, c := range []struct{ name, from, to string }{
		{"plain to plain", emptyServer(t).URL(), emptyServer(t).URL()},
		{"plain to cluster and back", emptyServer(t).URL(), cluster.URL()},
	} {
		w := onStore(t, c.from)
		w.fill()
		before, stats := w.dump(), w.allStats()
		w.coversAll(before)
		planned, err := redisstream.Survey(t.Context(), c.from, c.to, quiet())
		w.ok(err)
		report := migrate(t, c.from, c.to)
		w.same(c.name+": source", w.dump(), before)
		moved := onStore(t, c.to)
		moved.subs, moved.held = w.subs, w.held
		moved.same(c.name+": target", moved.dump(), before)
		if got := moved.allStats(); !maps.Equal(got, stats) {
			t.Errorf("%s: stats are\n%+v, not\n%+v", c.name, got, stats)
		}
		moved.goesOn()
		if !report.Verified || report.Frozen <= 0 || report.Outstanding == 0 || report.Deleted != 1 || report.Topics != 12 || report.Subscriptions != 17 {
			t.Errorf("%s: %+v", c.name, report)
		}
		report.Frozen, report.Verified = 0, false
		if planned != report {
			t.Errorf("%s: planned %+v, moved %+v", c.name, planned, report)
		}
		if again := migrate(t, c.from, c.to); again.Messages != report.Messages {
			t.Errorf("%s: moved again: %+v", c.name, again)
		}
	}
	w := onStore(t, cluster.URL())
	before := w.dump()
	back := onStore(t, emptyServer(t).URL())
	w.ok(w.store.Client().Ping(t.Context()).Err())
	if _, err := redisstream.Migrate(t.Context(), cluster.URL(), back.url, quiet()); err != nil {
		t.Fatal(err)
	}
	back.same("back", back.dump(), before)
}

// goesOn acts on what was leased before the move, and leases what waits.
func (w *transferWorld) goesOn() {
	w.Helper()
	for _, sub := range w.subs {
		held := w.held[sub]
		if len(held) == 0 {
			continue
		}
		x, err := w.store.Subscription(w.Context(), sub)
		w.ok(err)
		before, err := w.store.Stats(w.Context(), x.Ref())
		w.ok(err)
		w.ok(w.service.Acknowledge(w.Context(), sub, []string{held[0].AckID}))
		after, err := w.store.Stats(w.Context(), x.Ref())
		w.ok(err)
		if after.Acked != before.Acked+1 || after.Outstanding != before.Outstanding-1 {
			w.Errorf("%s: an ack of what was leased before takes it from %+v to %+v", sub, before, after)
		}
	}
	for _, topic := range w.topics {
		w.publish(topic, 3)
	}
}

// What is frozen refuses every step, and says why and when to come again.
func TestMigratedSourceIsFrozen(t *testing.T) {
	t.Parallel()
	source := emptyServer(t)
	w := onStore(t, source.URL())
	w.fill()
	ctx := t.Context()
	orders, err := w.store.Topic(ctx, w.topics[0])
	w.ok(err)
	sub, err := w.store.Subscription(ctx, w.subs[0])
	w.ok(err)
	receipt := []subscriptions.Receipt{{ID: subscriptions.MessageID{Milli: 1, Seq: 1}, Number: 1}}
	migrate(t, source.URL(), emptyServer(t).URL())
	before := w.dump()
	rules, ref := sub.Rules(100), sub.Ref()
	newTopic := subscriptions.Topic{Name: subscriptions.TopicName{Project: "new", ID: "new"}, UID: "new", Revision: 1}
	steps := map[string]func() error{
		"publish":        func() error { _, err := w.store.Publish(ctx, orders.Ref(), messages(1)); return err },
		"append dead":    func() error { return w.store.AppendDead(ctx, orders.Ref(), "x", messages(1), time.Hour) },
		"open":           func() error { return w.store.OpenTopic(ctx, orders.Ref()) },
		"open half-made": func() error { return w.store.OpenTopic(ctx, subscriptions.TopicRef{UID: "half", Revision: 2}) },
		"close":          func() error { return w.store.CloseTopic(ctx, orders.UID) },
		"attach":         func() error { return w.store.Attach(ctx, ref, sub.Name) },
		"revise":         func() error { return w.store.Revise(ctx, ref) },
		"drop":           func() error { return w.store.Drop(ctx, ref.Topic, ref.Subscription) },
		"stats":          func() error { _, err := w.store.Stats(ctx, ref); return err },
		"lease": func() error {
			_, err := w.store.Lease(ctx, subscriptions.LeaseRequest{Ref: ref, Rules: rules, Max: 1})
			return err
		},
		"lease with a filter": func() error {
			rules := rules
			rules.Match = matching(t, "attributes:a")
			_, err := w.store.Lease(ctx, subscriptions.LeaseRequest{Ref: ref, Rules: rules, Max: 1})
			return err
		},
		"sweep": func() error {
			_, err := w.store.Sweep(ctx, subscriptions.SweepRequest{Ref: ref, Rules: rules})
			return err
		},
		"acknowledge": func() error { return w.store.Acknowledge(ctx, ref, receipt) },
		"settle dead": func() error { return w.store.SettleDead(ctx, ref, receipt) },
		"confirm":     func() error { _, err := w.store.Confirm(ctx, ref, receipt); return err },
		"extend":      func() error { _, err := w.store.Extend(ctx, ref, receipt, time.Minute); return err },
		"release":     func() error { return w.store.Release(ctx, ref, releases(receipt)) },
		"nack": func() error {
			_, err := w.store.Nack(ctx, subscriptions.NackRequest{Ref: ref, Rules: rules})
			return err
		},
		"insert":          func() error { return w.store.InsertTopic(ctx, newTopic) },
		"insert known":    func() error { newTopic.Name.Project = "shop"; return w.store.InsertTopic(ctx, newTopic) },
		"replace":         func() error { orders.Revision++; return w.store.ReplaceTopic(ctx, orders) },
		"remove":          func() error { return w.store.RemoveTopic(ctx, orders.Name, orders.UID) },
		"remove a sub":    func() error { return w.store.RemoveSubscription(ctx, sub.Name, sub.UID) },
		"service publish": func() error { _, err := w.service.Publish(ctx, orders.Name, messages(1)); return err },
		"service pull":    func() error { _, err := w.service.Pull(ctx, sub.Name, 1, false); return err },
	}
	for name, step := range steps {
		var e *subscriptions.Error
		if err := step(); !errors.As(err, &e) || e.Code != subscriptions.Unavailable || e.RetryAfter < time.Second ||
			!strings.Contains(e.Message, "is being moved") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.store.Trim(ctx, orders.UID); err != nil {
		t.Errorf("trim: %v", err)
	}
	w.same("after all steps", w.dump(), before)
	if _, err := redisstream.Open(ctx, source.URL(), redisstream.Options{}); err == nil || !strings.Contains(err.Error(), "moved to another Redis") {
		t.Errorf("a server opens it: %v", err)
	}
	if err := redisstream.Abandon(ctx, source.URL(), false, quiet()); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a move that is over is given up: %v", err)
	}
	w.ok(redisstream.Abandon(ctx, source.URL(), true, quiet()))
	w.same("given up", w.dump(), before)
	again := onStore(t, source.URL())
	again.topics = w.topics[:3]
	again.subs, again.held = w.subs, w.held
	again.goesOn()
}

// Who waits for a message hears at once that the topic is being moved.
func TestFreezingWakesWaiters(t *testing.T) {
	t.Parallel()
	w := onStore(t, emptyServer(t).URL())
	sub := w.subscribe("p", "sub", w.topic("p", "topic"), nil)
	done := make(chan error, 1)
	go func() {
		_, err := w.service.Pull(t.Context(), sub, 1, false)
		done <- err
	}()
	topic, err := w.store.Topic(t.Context(), w.topics[0])
	w.ok(err)
	eventually(t, func() error {
		n := w.store.Client().PubSubNumSub(t.Context(), "postrider:{"+topic.UID+":0}:wake").Val()
		if n["postrider:{"+topic.UID+":0}:wake"] == 0 {
			return errors.New("nobody waits")
		}
		return nil
	})
	migrate(t, w.url, emptyServer(t).URL())
	select {
	case err := <-done:
		if subscriptions.CodeOf(err) != subscriptions.Unavailable {
			t.Errorf("the pull ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the pull goes on")
	}
}

// A move that is killed anywhere goes on when it is started again, and can be given up.
func TestInterruptedMigrate(t *testing.T) {
	t.Parallel()
	source, target := emptyServer(t), emptyServer(t)
	w := onStore(t, source.URL())
	w.fill()
	before := w.dump()
	steps := interrupted(t, source.URL(), target.URL(), 1<<30)
	again := func() {
		w.ok(redisstream.Abandon(t.Context(), source.URL(), true, quiet()))
		w.ok(target.Client(t).FlushAll(t.Context()).Err())
	}
	again()
	t.Logf("a whole move takes %d steps", steps)
	for at := int64(1); at < steps; at += max(1, steps/14) {
		interrupted(t, source.URL(), target.URL(), at)
		if at%2 == 0 { // twice
			interrupted(t, source.URL(), target.URL(), at/2)
		}
		migrate(t, source.URL(), target.URL())
		moved := onStore(t, target.URL())
		moved.same(fmt.Sprintf("after step %d", at), moved.dump(), before)
		again()
		w.same(fmt.Sprintf("given up after step %d", at), w.dump(), before)
		if t.Failed() {
			return
		}
	}
}

// interrupted ends a move at a step, and gives how many were taken.
func interrupted(t testing.TB, from, to string, at int64) int64 {
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
	_, err := redisstream.Migrate(ctx, from, to, o)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted at step %d: %v", at, err)
	}
	return steps.Load()
}

// A move that is given up half way leaves a source that goes on, and a target that can be emptied.
func TestAbandonedMigrate(t *testing.T) {
	t.Parallel()
	source, target := emptyServer(t), emptyServer(t)
	w := onStore(t, source.URL())
	w.fill()
	before := w.dump()
	stopAt(t, source.URL(), target.URL(), "moving topic by topic", 60)
	_, err := redisstream.Open(t.Context(), target.URL(), redisstream.Options{})
	if err == nil || !strings.Contains(err.Error(), "not whole") {
		t.Errorf("a server opens half a target: %v", err)
	}
	w.ok(redisstream.Abandon(t.Context(), source.URL(), false, quiet()))
	w.same("source", w.dump(), before)
	w.publish(w.topics[0], 5)
	before = w.dump()
	if _, err := redisstream.Migrate(t.Context(), source.URL(), target.URL(), quiet()); err == nil || !strings.Contains(err.Error(), "--discard") {
		t.Errorf("another move goes on with it: %v", err)
	}
	w.ok(redisstream.Discard(t.Context(), target.URL(), quiet()))
	if keys := target.Client(t).Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("the target still holds %v", keys)
	}
	migrate(t, source.URL(), target.URL())
	moved := onStore(t, target.URL())
	moved.same("target", moved.dump(), before)
}

// stopAt interrupts a move so many steps after a stage began.
func stopAt(t testing.TB, from, to, stage string, steps int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(steps))
	atStage(ctx, t, from, to, stage, func() {
		if left.Add(-1) == 0 {
			cancel()
		}
	}, func(err error) {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("the move ended with %v", err)
		}
	})
}

// atStage moves and calls a function before each command of a stage.
func atStage(ctx context.Context, t testing.TB, from, to, stage string, do func(), end func(error)) {
	t.Helper()
	o := quiet()
	o.Progress = &redisstream.Progress{}
	o.SetHook(atCommand(func(context.Context) {
		if o.Progress.Now().Stage == stage {
			do()
		}
	}))
	_, err := redisstream.Migrate(ctx, from, to, o)
	end(err)
}

// What a failover of the source thaws is moved again, and what vanished from the middle of a log is not at the target.
func TestMigrateNoticesChanges(t *testing.T) {
	t.Parallel()
	source, target := emptyServer(t), emptyServer(t)
	w := onStore(t, source.URL())
	w.fill()
	orders, err := w.store.Topic(t.Context(), w.topics[0])
	w.ok(err)
	log := w.store.LogKey(orders.UID)
	entries := w.store.Client().XRange(t.Context(), log, "-", "+").Val()
	client := source.Client(t)
	var vanish, thaw sync.Once
	o := quiet()
	o.Progress = &redisstream.Progress{}
	o.SetHook(atCommand(func(context.Context) {
		switch o.Progress.Now().Stage {
		case "moving topic by topic":
			vanish.Do(func() { client.XDel(t.Context(), log, entries[len(entries)/2].ID) })
		case "looking whether all is still as it was moved":
			thaw.Do(func() {
				client.HSet(t.Context(), "postrider:{"+orders.UID+":0}:meta", "v", "1")
				w.publish(orders.Name, 2)
			})
		}
	}))
	_, err = redisstream.Migrate(t.Context(), source.URL(), target.URL(), o)
	w.ok(err)
	moved := onStore(t, target.URL())
	moved.same("target", moved.dump(), w.dump())
	if got := len(moved.store.Client().XRange(t.Context(), log, "-", "+").Val()); got != len(entries)+1 {
		t.Errorf("the log has %d entries, not %d - 1 + 2", got, len(entries))
	}
}

// Large messages travel in small pages.
func TestMigrateLargeMessages(t *testing.T) {
	t.Parallel()
	source, target := emptyServer(t), emptyServer(t)
	w := onStore(t, source.URL())
	topic := w.topic("p", "topic")
	w.subscribe("p", "sub", topic, nil)
	for i := range 30 {
		size := 100
		if i%10 == 0 {
			size = 1_500_000
		}
		_, err := w.service.Publish(t.Context(), topic, slices.Repeat([]subscriptions.Message{{Data: make([]byte, size)}}, 2))
		w.ok(err)
	}
	report := migrate(t, source.URL(), target.URL())
	if report.Messages != 60 || report.Bytes != 3*2*1_500_000+27*2*100 {
		t.Errorf("%+v", report)
	}
	moved := onStore(t, target.URL())
	moved.same("target", moved.dump(), w.dump())
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	full := onStore(t, emptyServer(t).URL())
	full.fill()
	before := full.dump()
	refused := func(what, from, to, want string) {
		t.Helper()
		_, err := redisstream.Migrate(ctx, from, to, quiet())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := redisstream.Survey(ctx, from, to, quiet()); err == nil && what != "itself, when empty" {
			t.Errorf("%s: a survey finds nothing wrong", what)
		}
	}
	refused("itself", full.url, full.url, "the same as the source")
	empty := onStore(t, emptyServer(t).URL())
	refused("itself, when empty", empty.url, empty.url, "the same as the source")
	refused("no store", emptyServer(t).URL(), emptyServer(t).URL(), "there is no data")
	other := onStore(t, emptyServer(t).URL())
	other.topic("p", "topic")
	refused("another store", full.url, other.url, "already holds data")
	left := emptyServer(t)
	left.Client(t).Set(ctx, "postrider:{x:0}:log", "", 0)
	refused("left over", full.url, left.URL(), "left over")
	used := onStore(t, emptyServer(t).URL())
	_, err := used.store.Beat(ctx, "server", time.Minute, "")
	full.ok(err)
	refused("a running server", full.url, used.url, "servers are running")
	evicting := redistest.Start(t, redistest.Args("--maxmemory-policy", "allkeys-lru"))
	refused("a Redis that evicts", full.url, evicting.URL(), "noeviction")

	client := full.store.Client()
	topic, err := full.store.Topic(ctx, full.topics[0])
	full.ok(err)
	meta := "postrider:{" + topic.UID + ":0}:meta"
	client.HSet(ctx, meta, "v", "2")
	refused("a newer slot", full.url, emptyServer(t).URL(), "newer Postrider")
	full.ok(redisstream.Abandon(ctx, full.url, false, quiet()))
	client.HSet(ctx, meta, "v", "1")
	client.Set(ctx, "postrider:{fleet}:format", "2", 0)
	refused("a newer store", full.url, emptyServer(t).URL(), "newer one")
	client.Set(ctx, "postrider:{fleet}:format", "1", 0)
	client.HSet(ctx, "postrider:{p:shop}:catalog", "z/x", "1 uid 1 {}")
	client.ZAdd(ctx, "postrider:{p:shop}:names", zMember("z/x"))
	refused("a newer kind of record", full.url, emptyServer(t).URL(), "newer Postrider")
	client.HDel(ctx, "postrider:{p:shop}:catalog", "z/x")
	client.ZRem(ctx, "postrider:{p:shop}:names", "z/x")
	full.same("after all", full.dump(), before)
	// A target that a server only looked at is free.
	looked := onStore(t, emptyServer(t).URL())
	migrate(t, full.url, looked.url)
	// What has been moved is not moved elsewhere.
	refusedAgain := emptyServer(t).URL()
	if _, err := redisstream.Migrate(ctx, full.url, refusedAgain, quiet()); err == nil || !strings.Contains(err.Error(), "moved already") {
		t.Errorf("moved again: %v", err)
	}
}
