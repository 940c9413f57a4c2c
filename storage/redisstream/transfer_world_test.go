package redisstream_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// outstandingBound is small, so that hot keys overflow.
const outstandingBound = 100

// transferWorld is a store with a service on it, filled with a bit of everything.
type transferWorld struct {
	testing.TB
	url     string
	store   *redisstream.Store
	service *subscriptions.Service
	random  *rand.Rand
	topics  []subscriptions.TopicName
	subs    []subscriptions.SubscriptionName
	held    map[subscriptions.SubscriptionName][]subscriptions.Received
}

func onStore(t testing.TB, url string) *transferWorld {
	t.Helper()
	s := open(t, url, redisstream.Options{Prefix: "postrider:", Log: silent()})
	return &transferWorld{
		TB: t, url: url, store: s, service: subscriptions.NewService(s, subscriptions.Options{Outstanding: outstandingBound}),
		random: rand.New(rand.NewPCG(1, 2)), held: map[subscriptions.SubscriptionName][]subscriptions.Received{},
	}
}

func (w *transferWorld) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *transferWorld) topic(project, id string) subscriptions.TopicName {
	w.Helper()
	name := subscriptions.TopicName{Project: project, ID: id}
	_, err := w.service.CreateTopic(w.Context(), subscriptions.Topic{Name: name, Labels: map[string]string{"made-by": "test"}})
	w.ok(err)
	w.topics = append(w.topics, name)
	return name
}

func (w *transferWorld) subscribe(project, id string, topic subscriptions.TopicName, change func(*subscriptions.Subscription)) subscriptions.SubscriptionName {
	w.Helper()
	sub := subscriptions.Subscription{
		Name: subscriptions.SubscriptionName{Project: project, ID: id}, Topic: topic,
		AckDeadline: 600 * time.Second, Retention: 24 * time.Hour, Expiration: 48 * time.Hour,
	}
	if change != nil {
		change(&sub)
	}
	_, err := w.service.CreateSubscription(w.Context(), sub)
	w.ok(err)
	w.subs = append(w.subs, sub.Name)
	return sub.Name
}

func (w *transferWorld) publish(topic subscriptions.TopicName, n int) {
	w.Helper()
	msgs, key := make([]subscriptions.Message, n), ""
	if w.random.IntN(3) == 0 {
		key = fmt.Sprint("key ", w.random.IntN(4))
	}
	for i := range msgs {
		msgs[i].Data = make([]byte, w.random.IntN(300))
		for j := range msgs[i].Data {
			msgs[i].Data[j] = byte(w.random.Uint32())
		}
		if i%3 == 0 {
			msgs[i].Attributes = map[string]string{"n": fmt.Sprint(i), "text": "žluťoučký\x00kůň"}
		}
		msgs[i].OrderingKey = key
		if len(msgs[i].Data) == 0 {
			msgs[i].Data = []byte{0}
		}
	}
	_, err := w.service.Publish(w.Context(), topic, msgs)
	w.ok(err)
}

// step does one thing to a subscription.
func (w *transferWorld) step(sub subscriptions.SubscriptionName) {
	w.Helper()
	ctx, held := w.Context(), w.held[sub]
	if len(held) == 0 || w.random.IntN(3) == 0 {
		got, err := w.service.Pull(ctx, sub, 1+w.random.IntN(60), true)
		w.ok(err)
		w.held[sub] = append(held, got...)
		return
	}
	n := 1 + w.random.IntN(len(held))
	ids := make([]string, n)
	for i, r := range held[:n] {
		ids[i] = r.AckID
	}
	w.held[sub] = held[n:]
	switch w.random.IntN(4) {
	case 0, 1:
		w.ok(w.service.Acknowledge(ctx, sub, ids))
	case 2:
		w.ok(w.service.ModifyAckDeadline(ctx, sub, ids, 0))
	default:
		w.ok(w.service.Release(ctx, sub, ids))
	}
}

// fill makes what a store can hold: leases, waits, dead and dying messages, a topic that is gone, one that is being made, a
// subscription that was detached, topics without messages and without subscriptions.
func (w *transferWorld) fill() {
	w.Helper()
	ctx := w.Context()
	orders, letters, quiet := w.topic("shop", "orders"), w.topic("shop", "letters"), w.topic("other-project", "quiet")
	gone, lonely := w.topic("shop", "gone"), w.topic("shop", "lonely")
	all := []subscriptions.SubscriptionName{
		w.subscribe("shop", "plain", orders, nil),
		w.subscribe("shop", "retrying", orders, func(s *subscriptions.Subscription) {
			s.Retry = &subscriptions.RetryPolicy{Minimum: time.Minute, Maximum: 10 * time.Minute}
		}),
		w.subscribe("other-project", "dying", orders, func(s *subscriptions.Subscription) {
			s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: letters, MaxAttempts: 5}
		}),
		w.subscribe("shop", "left", gone, nil),
		w.subscribe("shop", "letters", letters, nil),
		w.subscribe("shop", "ordered", orders, func(s *subscriptions.Subscription) { s.Ordered = true }),
		w.subscribe("shop", "ordered-dying", orders, func(s *subscriptions.Subscription) {
			s.Ordered, s.DeadLetter = true, &subscriptions.DeadLetterPolicy{Topic: letters, MaxAttempts: 5}
		}),
		w.subscribe("shop", "filtered", orders, func(s *subscriptions.Subscription) {
			s.Filter, s.Routing = `attributes.text != "x"`, &subscriptions.Routing{Attribute: "n", Pattern: "#"}
		}),
	}
	w.subscribe("shop", "idle", quiet, nil)
	detached := w.subscribe("shop", "detached", orders, nil)
	w.subscribe("shop", "pushed", orders, func(s *subscriptions.Subscription) {
		s.Push = &subscriptions.PushConfig{Endpoint: "https://example.com/push"}
	})
	w.ok(w.store.ReplaceSigningKeys(ctx, "", "keys"))
	w.publish(orders, 7)
	w.exhaust(all[2], 7)
	for range 12 {
		w.publish(orders, 40)
		w.publish(gone, 10)
		w.publish(letters, 5)
		w.publish(lonely, 1)
		for range 3 {
			for _, sub := range all {
				w.step(sub)
			}
		}
	}
	w.deadLetter(all[2], letters)
	w.overflow(w.topic("shop", "hot"), "hot", "")
	w.overflow(w.topic("shop", "hot-filtered"), "hot-filtered", "attributes:even")
	w.confirm(w.topic("shop", "once"))
	w.block(w.topic("shop", "blocked"))
	w.sought(w.topic("shop", "sought"))
	w.delay(orders)
	w.redriven(w.topic("shop", "redriven"))
	w.ok(w.service.DetachSubscription(ctx, detached))
	w.ok(w.service.DeleteTopic(ctx, gone))
	_, err := w.service.UpdateTopic(ctx, subscriptions.Topic{Name: orders, Labels: map[string]string{"a": "b"}}, []string{"labels"})
	w.ok(err)
	w.ok(w.store.InsertTopic(ctx, subscriptions.Topic{
		Name: subscriptions.TopicName{Project: "shop", ID: "half-made"}, UID: "half", Phase: subscriptions.Creating, Revision: 1,
	}))
}

// overflow makes a subscription with a key that is hungry, and one with a message that is acked provisionally.
// Every second message matches the filter.
func (w *transferWorld) overflow(topic subscriptions.TopicName, id, filter string) {
	w.Helper()
	sub := w.subscribe("shop", id, topic, func(s *subscriptions.Subscription) { s.Ordered, s.Filter = true, filter })
	pull := func(limit int) (ids []string) {
		got, err := w.service.Pull(w.Context(), sub, limit, true)
		w.ok(err)
		for _, r := range got {
			ids = append(ids, r.AckID)
		}
		return ids
	}
	publish := func(key string, n int) {
		msgs := messages(n)
		for i := range msgs {
			msgs[i].OrderingKey = key
			if i%2 == 0 {
				msgs[i].Attributes = map[string]string{"even": ""}
			}
		}
		_, err := w.service.Publish(w.Context(), topic, msgs)
		w.ok(err)
	}
	publish("hot", 4*outstandingBound)
	head := pull(1)
	for range 5 {
		pull(outstandingBound) // parks the others, or leaves them in the log
	}
	w.ok(w.service.Acknowledge(w.Context(), sub, head))
	run := pull(outstandingBound)
	publish("cold", 4)
	w.ok(w.service.Acknowledge(w.Context(), sub, pull(2)[1:]))
	w.ok(w.service.Acknowledge(w.Context(), sub, run))
}

// delay publishes messages that are due later, and one with another id in the log than its own.
func (w *transferWorld) delay(topic subscriptions.TopicName) {
	w.Helper()
	msgs := messages(4)
	for i, at := range []string{"3600", "2026-01-01T00:00:00Z", "7200s", "86400.5"} {
		msgs[i].Attributes = map[string]string{subscriptions.AttributeDeliverAt: at}
	}
	_, err := w.service.Publish(w.Context(), topic, msgs)
	w.ok(err)
}

// block makes a subscription with a blocked key.
func (w *transferWorld) block(topic subscriptions.TopicName) {
	w.Helper()
	sub := w.subscribe("shop", "blocked", topic, func(s *subscriptions.Subscription) { s.Ordered = true })
	msgs := messages(2)
	for i := range msgs {
		msgs[i].OrderingKey = "key"
	}
	_, err := w.service.Publish(w.Context(), topic, msgs)
	w.ok(err)
	got, err := w.service.Pull(w.Context(), sub, 2, true)
	w.ok(err)
	w.ok(w.service.ModifyAckDeadline(w.Context(), sub, []string{got[0].AckID}, 0))
}

// confirm makes a subscription that remembers an ack.
func (w *transferWorld) confirm(topic subscriptions.TopicName) {
	w.Helper()
	sub := w.subscribe("shop", "once", topic, func(s *subscriptions.Subscription) { s.ExactlyOnce = true })
	_, err := w.service.Publish(w.Context(), topic, messages(2))
	w.ok(err)
	got, err := w.service.Pull(w.Context(), sub, 2, true)
	w.ok(err)
	w.ok(w.service.Acknowledge(w.Context(), sub, []string{got[0].AckID}))
}

// sought makes a subscription that a seek took back, with a part of that leased again, and snapshots: one of it, one of what the
// key of another left in the log, and one of a subscription that is gone.
func (w *transferWorld) sought(topic subscriptions.TopicName) {
	w.Helper()
	ctx := w.Context()
	sub := w.subscribe("shop", "sought", topic, nil)
	snapshot := func(id string, of subscriptions.SubscriptionName) {
		_, err := w.service.CreateSnapshot(ctx, subscriptions.Snapshot{Name: subscriptions.SnapshotName{Project: "shop", ID: id}, Subscription: of})
		w.ok(err)
	}
	start := time.Now().Add(-time.Hour)
	w.publish(topic, 20)
	got, err := w.service.Pull(ctx, sub, 12, true)
	w.ok(err)
	w.ok(w.service.Acknowledge(ctx, sub, []string{got[3].AckID, got[4].AckID}))
	w.ok(w.service.Seek(ctx, sub, subscriptions.SeekTarget{Time: &start}))
	_, err = w.service.Pull(ctx, sub, 3, true)
	w.ok(err)
	snapshot("of-sought", sub)
	snapshot("of-hot", subscriptions.SubscriptionName{Project: "shop", ID: "hot"})
	past := w.topic("shop", "past")
	short := subscriptions.SubscriptionName{Project: "shop", ID: "short-lived"}
	_, err = w.service.CreateSubscription(ctx, subscriptions.Subscription{Name: short, Topic: past})
	w.ok(err)
	w.publish(past, 5)
	snapshot("of-past", short)
	w.ok(w.service.DeleteSubscription(ctx, short))
}

// redriven makes a subscription with messages that came back, and a snapshot that holds them.
func (w *transferWorld) redriven(topic subscriptions.TopicName) {
	w.Helper()
	ctx := w.Context()
	name := w.subscribe("shop", "redriven", topic, nil)
	w.publish(topic, 3)
	got, err := w.service.Pull(ctx, name, 3, true)
	w.ok(err)
	sub, err := w.store.Subscription(ctx, name)
	w.ok(err)
	r := subscriptions.RedriveRequest{Ref: sub.Ref(), Rules: sub.Rules(outstandingBound)}
	for _, m := range got {
		w.ok(w.service.Acknowledge(ctx, name, []string{m.AckID}))
		r.Letters = append(r.Letters, subscriptions.RedriveLetter{Message: m.Message, Topic: "letters", ID: m.Message.ID})
	}
	_, err = w.store.Redrive(ctx, r)
	w.ok(err)
	_, err = w.service.CreateSnapshot(ctx, subscriptions.Snapshot{Name: subscriptions.SnapshotName{Project: "shop", ID: "of-redriven"}, Subscription: name})
	w.ok(err)
}

// exhaust gives the first n messages of a subscription all their attempts.
func (w *transferWorld) exhaust(sub subscriptions.SubscriptionName, n int) {
	w.Helper()
	for range 5 {
		got, err := w.service.Pull(w.Context(), sub, n, true)
		w.ok(err)
		var ids []string
		for _, r := range got {
			ids = append(ids, r.AckID)
		}
		w.ok(w.service.ModifyAckDeadline(w.Context(), sub, ids, 0))
	}
}

// deadLetter leaves what a server that died while it moved dead letters leaves: some are taken, and not settled.
func (w *transferWorld) deadLetter(sub subscriptions.SubscriptionName, target subscriptions.TopicName) {
	w.Helper()
	x, err := w.store.Subscription(w.Context(), sub)
	w.ok(err)
	res, err := w.store.Sweep(w.Context(), subscriptions.SweepRequest{
		Ref: x.Ref(), Rules: x.Rules(outstandingBound), Max: 3, Hold: time.Minute, Review: -1,
	})
	w.ok(err)
	if len(res.Dead) != 3 {
		w.Fatalf("%d messages are dead", len(res.Dead))
	}
	topic, err := w.store.Topic(w.Context(), target)
	w.ok(err)
	var msgs []subscriptions.Message
	for _, d := range res.Dead {
		msgs = append(msgs, d.Message)
	}
	w.ok(w.store.AppendDead(w.Context(), topic.Ref(), x.UID, msgs, time.Hour))
}

// dump is all that a store keeps, but for what belongs to its servers. Marks of a move are left out, and so are empty logs.
func (w *transferWorld) dump() map[string]string {
	w.Helper()
	all := map[string]string{}
	var mu sync.Mutex
	each := func(ctx context.Context, node *redis.Client) error {
		keys := node.Scan(ctx, 0, "postrider:*", 1000).Iterator()
		for keys.Next(ctx) {
			text := dumpKey(ctx, w, node, keys.Val())
			mu.Lock()
			if text != "" && (!strings.Contains(keys.Val(), "{fleet}") || strings.HasSuffix(keys.Val(), ":signing")) {
				all[keys.Val()] = text
			}
			mu.Unlock()
		}
		return keys.Err()
	}
	switch client := w.store.Client().(type) {
	case *redis.ClusterClient:
		w.ok(client.ForEachMaster(w.Context(), each))
	case *redis.Client:
		w.ok(each(w.Context(), client))
	}
	projects, err := w.store.Projects(w.Context())
	w.ok(err)
	all["projects"] = fmt.Sprint(projects)
	return all
}

// coversAll fails unless there is something under each key that a subscription can have. Who adds one must teach it to fill.
func (w *transferWorld) coversAll(dump map[string]string) {
	w.Helper()
	for _, part := range append(redisstream.SubscriptionKeys(), "snapshots", "delayed", "delays", "snapshot:", "held:", "left:", "leftat:", "heldat:", "heldletters:") {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(dump)), func(key string) bool { return strings.Contains(key, "}:"+part) }) {
			w.Errorf("no subscription has anything under %s: what is not there cannot be missed", part)
		}
	}
}

// loosely leaves out of a dump what may be written in several ways: a queue with one message, and from where on to look for
// what a key left in the log. Acks that were confirmed are of no use to who comes back later, and
// why attempts failed is not looked after while servers go on.
func loosely(dump map[string]string) map[string]string {
	after := regexp.MustCompile(`:\d+-\d+"`)
	value := regexp.MustCompile(`=\S+`)
	loose := map[string]string{}
	for key, text := range dump {
		switch {
		case strings.Contains(key, ":order:"), strings.Contains(key, ":confirmed:"),
			strings.Contains(key, ":failures:"), strings.Contains(key, ":blocked:"):
		case strings.Contains(key, ":overflow:"):
			loose[key] = after.ReplaceAllString(text, `"`)
		case strings.Contains(key, ":overflowed:"), strings.Contains(key, ":hungry:"), strings.Contains(key, ":keys:"):
			parts := strings.Fields(value.ReplaceAllString(text, ""))
			slices.Sort(parts)
			loose[key] = fmt.Sprint(parts)
		default:
			loose[key] = text
		}
	}
	return loose
}

func dumpKey(ctx context.Context, t testing.TB, c *redis.Client, key string) string {
	var b strings.Builder
	if ttl := c.TTL(ctx, key).Val(); ttl > 0 {
		b.WriteString("expires; ")
	}
	switch kind := c.Type(ctx, key).Val(); kind {
	case "hash":
		fields := c.HGetAll(ctx, key).Val()
		if fields["v"] == redisstream.FrozenVersion {
			if delete(fields, "v"); len(fields) > 0 && !strings.HasSuffix(key, ":catalog") {
				fields["v"] = "1"
			}
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			fmt.Fprintf(&b, "%s=%q ", name, fields[name])
		}
	case "zset":
		for _, z := range c.ZRangeWithScores(ctx, key, 0, -1).Val() {
			fmt.Fprintf(&b, "%v=%.3f ", z.Member, z.Score)
		}
	case "stream":
		for _, m := range c.XRange(ctx, key, "-", "+").Val() {
			fmt.Fprintf(&b, "%s=%q/%x ", m.ID, m.Values["h"], sha256.Sum256(fmt.Append(nil, m.Values["d"])))
		}
	case "set":
		members := c.SMembers(ctx, key).Val()
		slices.Sort(members)
		fmt.Fprint(&b, members)
	case "none", "string":
	default:
		t.Errorf("%s is a %s", key, kind)
	}
	return b.String()
}

// same compares two dumps and shows what differs.
func (w *transferWorld) same(what string, got, want map[string]string) {
	w.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			w.Errorf("%s: %s is\n%.600s\nnot\n%.600s", what, key, got[key], want[key])
		}
	}
	for key, text := range got {
		if _, ok := want[key]; !ok {
			w.Errorf("%s: %s should not be there: %.200s", what, key, text)
		}
	}
}

// allStats are the counters of all subscriptions, without ages.
func (w *transferWorld) allStats() map[subscriptions.SubscriptionName]subscriptions.Stats {
	w.Helper()
	all := map[subscriptions.SubscriptionName]subscriptions.Stats{}
	for _, name := range w.subs {
		sub, err := w.store.Subscription(w.Context(), name)
		w.ok(err)
		if sub.Detached {
			continue
		}
		stats, err := w.store.Stats(w.Context(), sub.Ref())
		w.ok(err)
		stats.OldestAge = 0
		all[name] = stats
	}
	return all
}

// quiet are options of a transfer that logs nothing.
func quiet() redisstream.TransferOptions { return redisstream.TransferOptions{Log: silent()} }

// atCommand is a hook that calls a function before each command or pipeline.
type atCommand func(ctx context.Context)

func (h atCommand) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h atCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { h(ctx); return next(ctx, cmd) }
}

func (h atCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { h(ctx); return next(ctx, cmds) }
}

// emptyServer is a Redis with nothing on it.
func emptyServer(t testing.TB) *redistest.Server { return redistest.Start(t) }

func zMember(name string) redis.Z { return redis.Z{Member: name} }
