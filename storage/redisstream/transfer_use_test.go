package redisstream_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

// usedStore is a store that clients use while it is backed up. Every message has data of its own, which a dead letter keeps.
type usedStore struct {
	*transferWorld
	count atomic.Int64
	stop  atomic.Bool

	mu        sync.Mutex
	published map[string]bool // data of what was answered
	acked     map[string]bool // data of what is being, or was, acknowledged
	hops      map[string]int  // how often a message became a dead letter
}

// note adds messages to a set.
func (w *usedStore) note(set map[string]bool, data ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range data {
		set[d] = true
	}
}

func (w *usedStore) copy(set map[string]bool) map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(set)
}

func (w *usedStore) send(topic subscriptions.TopicName, n int) error {
	return w.sendKeyed(topic, n, "")
}

func (w *usedStore) sendKeyed(topic subscriptions.TopicName, n int, key string) error {
	msgs, data := make([]subscriptions.Message, n), make([]string, n)
	for i := range msgs {
		data[i] = fmt.Sprintf("message %d %s", w.count.Add(1), strings.Repeat("x", i))
		msgs[i].Data, msgs[i].OrderingKey = []byte(data[i]), key
	}
	_, err := w.service.Publish(w.Context(), topic, msgs)
	if err == nil {
		w.note(w.published, data...)
	}
	return err
}

// doomed tells whether a message is to become a dead letter, again.
func (w *usedStore) doomed(data string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	var n int
	fmt.Sscanf(data, "message %d", &n)
	return n%3 == 0 && w.hops[data] < 8
}

// use publishes, acks what it pulls, or keeps or nacks it, and moves dead letters, until it is stopped.
func (w *usedStore) use(topic subscriptions.TopicName, name subscriptions.SubscriptionName) error {
	ctx := w.Context()
	sub, err := w.store.Subscription(ctx, name)
	if err != nil {
		return err
	}
	for !w.stop.Load() {
		if err := w.send(topic, 20); err != nil {
			return err
		}
		got, err := w.service.Pull(ctx, name, 100, true)
		if err != nil {
			return err
		}
		for i, r := range got {
			switch data := string(r.Message.Data); {
			case i%40 == 39: // is kept
			case w.doomed(data):
				if err := w.service.ModifyAckDeadline(ctx, name, []string{r.AckID}, 0); err != nil {
					return err
				}
			default:
				w.note(w.acked, data)
				if err := w.service.Acknowledge(ctx, name, []string{r.AckID}); err != nil {
					return err
				}
			}
		}
		if err := w.moveDead(sub); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// moveDead is what the sweep of a server does, in its steps.
func (w *usedStore) moveDead(sub subscriptions.Subscription) error {
	ctx := w.Context()
	res, err := w.store.Sweep(ctx, subscriptions.SweepRequest{
		Ref: sub.Ref(), Rules: sub.Rules(outstandingBound), Max: 50, Hold: time.Minute, Review: -1,
	})
	if err != nil || len(res.Dead) == 0 || sub.DeadLetter == nil {
		return err
	}
	target, err := w.store.Topic(ctx, sub.DeadLetter.Topic)
	if err != nil {
		return err
	}
	letters, ids := make([]subscriptions.Message, len(res.Dead)), make([]subscriptions.MessageID, len(res.Dead))
	for i, d := range res.Dead {
		letters[i], ids[i] = d.Message, d.Message.ID
		w.mu.Lock()
		w.hops[string(d.Message.Data)]++
		w.mu.Unlock()
	}
	if err := w.store.AppendDead(ctx, target.Ref(), sub.UID, letters, time.Hour); err != nil {
		return err
	}
	if err := w.store.SettleDead(ctx, sub.Ref(), receipts(res.Dead)); err != nil {
		return err
	}
	return w.store.ForgetDead(ctx, target.UID, sub.UID, ids)
}

// present is the data of what a subscription has not settled. It checks that the parts of its state fit together. whole tells
// that no message ahead of the cursor may be missing.
func (w *transferWorld) present(name subscriptions.SubscriptionName, whole bool) map[string]bool {
	w.Helper()
	ctx, client := w.Context(), w.store.Client()
	sub, err := w.store.Subscription(ctx, name)
	w.ok(err)
	key := func(part string) string { return "postrider:{" + sub.TopicUID + ":0}:" + part }
	state := client.HGetAll(ctx, key("s:"+sub.UID)).Val()
	var cursor, last, bytes, sum, ahead int64
	fmt.Sscan(state["n"], &cursor)
	fmt.Sscan(state["bytes"], &bytes)
	fmt.Sscan(client.HGet(ctx, key("meta"), "n").Val(), &last)
	out := map[string]bool{}
	for _, member := range client.ZRange(ctx, key("out:"+sub.UID), 0, -1).Val() {
		out[member] = false
	}
	found := map[string]bool{}
	for _, m := range client.XRange(ctx, key("log"), "-", "+").Val() {
		id, err := subscriptions.ParseMessageID(m.ID)
		w.ok(err)
		message, err := redisstream.DecodeMessage(id, m.Values["d"].(string))
		w.ok(err)
		member := fmt.Sprintf("%013d-%016d", id.Milli, id.Seq)
		if id.N() > cursor {
			ahead++
		} else if _, ok := out[member]; ok {
			out[member] = true
			sum += int64(message.Size())
		} else {
			continue
		}
		found[string(message.Data)] = true
	}
	for member, there := range out {
		sets := 0
		for _, set := range []string{"leased:", "waiting:", "dead:"} {
			if client.ZScore(ctx, key(set+sub.UID), member).Err() == nil {
				sets++
			}
		}
		if !there || sets != 1 {
			w.Errorf("%s: %s is outstanding, in %d sets; in the log: %v", name, member, sets, there)
		}
	}
	if bytes != sum {
		w.Errorf("%s: %d bytes are outstanding, it says %d", name, sum, bytes)
	}
	if whole && ahead != last-cursor {
		w.Errorf("%s: %d messages lie ahead, not %d", name, ahead, last-cursor)
	}
	return found
}

func newUsed(t testing.TB) *usedStore {
	t.Helper()
	return &usedStore{
		transferWorld: onStore(t, emptyServer(t).URL()),
		published:     map[string]bool{}, acked: map[string]bool{}, hops: map[string]int{},
	}
}

// newUsedStore makes four topics with a subscription each that moves dead letters: two to the topic of each other, one to one
// of these, one to its own. Others hold the logs, which makes them long.
func newUsedStore(t testing.TB) (w *usedStore, used []subscriptions.SubscriptionName) {
	t.Helper()
	w = newUsed(t)
	one, two, three, four := w.topic("p", "one"), w.topic("p", "two"), w.topic("p", "three"), w.topic("p", "four")
	for i, topic := range w.topics {
		w.subscribe("p", fmt.Sprint("held", i), topic, nil)
		for range 40 {
			w.publish(topic, 50)
		}
	}
	dying := func(id string, topic, letters subscriptions.TopicName) {
		used = append(used, w.subscribe("p", id, topic, func(s *subscriptions.Subscription) {
			s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: letters, MaxAttempts: 5}
		}))
	}
	dying("first", one, two)
	dying("second", two, one)
	dying("third", three, two)
	dying("fourth", four, four)
	return w, used
}

// slow are options of a transfer that takes its time.
func slow(pause time.Duration) redisstream.TransferOptions {
	o := quiet()
	o.SetHook(atCommand(func(context.Context) { time.Sleep(pause) }))
	return o
}

// lacks counts what is wanted and not there. Only the third topic takes no dead letters, so that nothing is missing ahead of
// the cursor.
func lacks(w *transferWorld, used []subscriptions.SubscriptionName, wanted map[string]bool) (missing, found int) {
	w.Helper()
	got := map[string]bool{}
	for i, sub := range used {
		maps.Copy(got, w.present(sub, i == 2))
	}
	for data := range wanted {
		if !got[data] {
			missing++
		}
	}
	return missing, len(got)
}

// A backup of a store in use has all that was published before it began and was not settled when it ended, and what it has
// fits together, whichever topic is read first when letters move between them.
func TestBackupInUse(t *testing.T) {
	t.Parallel()
	w, used := newUsedStore(t)
	var users errgroup.Group
	for i, topic := range w.topics {
		users.Go(func() error { return w.use(topic, used[i]) })
	}
	type made struct {
		file   []byte
		wanted map[string]bool
	}
	var backups []made
	for range 3 {
		wanted := w.copy(w.published)
		var file bytes.Buffer
		_, err := redisstream.Backup(t.Context(), w.url, &file, slow(5*time.Millisecond))
		w.ok(err)
		for data := range w.copy(w.acked) {
			delete(wanted, data)
		}
		backups = append(backups, made{file.Bytes(), wanted})
	}
	w.stop.Store(true)
	w.ok(users.Wait())
	for i, b := range backups {
		to := onStore(t, emptyServer(t).URL())
		restore(t, b.file, to.url)
		missing, found := lacks(to, used, b.wanted)
		t.Logf("backup %d: %d messages, at least %d wanted", i, found, len(b.wanted))
		if missing > 0 {
			t.Errorf("backup %d: %d messages are missing", i, missing)
		}
	}
}

// A move of a store in use takes along all that was published and not acknowledged.
func TestMigrateInUse(t *testing.T) {
	t.Parallel()
	w, used := newUsedStore(t)
	var users errgroup.Group
	for i, topic := range w.topics {
		users.Go(func() error {
			err := w.use(topic, used[i])
			if subscriptions.CodeOf(err) != subscriptions.Unavailable {
				return fmt.Errorf("%s was not told that it is being moved, but %w", used[i], err)
			}
			return nil
		})
	}
	to := onStore(t, emptyServer(t).URL())
	_, err := redisstream.Migrate(t.Context(), w.url, to.url, slow(5*time.Millisecond))
	w.ok(err)
	w.ok(users.Wait())
	wanted := w.copy(w.published)
	for data := range w.acked {
		delete(wanted, data)
	}
	missing, found := lacks(to, used, wanted)
	t.Logf("%d messages, at least %d wanted", found, len(wanted))
	if missing > 0 || len(wanted) == 0 {
		t.Errorf("%d of %d messages are missing", missing, len(wanted))
	}
	got, want := to.dump(), w.dump()
	for _, all := range []map[string]string{got, want} {
		// The source may have forgotten since which letters it took.
		maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasSuffix(key, ":taken") })
	}
	to.same("target", got, want)
}
