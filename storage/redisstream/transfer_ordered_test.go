package redisstream_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

// orderedUser is a client of a subscription that keeps order.
type orderedUser struct {
	*usedStore
	topic  subscriptions.TopicName
	sub    subscriptions.SubscriptionName
	random *rand.Rand
	kept   []string
}

// step publishes to a hot key or to another, and pulls, acks, nacks, releases or keeps what comes.
func (u *orderedUser) step() error {
	ctx, key := u.Context(), "hot"
	if u.random.IntN(3) == 0 {
		key = fmt.Sprint("key ", u.random.IntN(20))
	}
	if n := len(u.published) - len(u.acked); n < 200 {
		if err := u.sendKeyed(u.topic, 1+u.random.IntN(20), key); err != nil {
			return err
		}
	}
	got, err := u.service.Pull(ctx, u.sub, 1+u.random.IntN(40), true)
	if err != nil {
		return err
	}
	// The later of a run first, so that acks are provisional for a while.
	for i := len(got) - 1; i >= 0; i-- {
		ids := []string{got[i].AckID}
		switch u.random.IntN(15) {
		case 0:
			err = u.service.ModifyAckDeadline(ctx, u.sub, ids, 0)
		case 1:
			err = u.service.Release(ctx, u.sub, ids)
		case 2:
			u.kept = append(u.kept, ids...)
		default:
			u.note(u.acked, string(got[i].Message.Data))
			err = u.service.Acknowledge(ctx, u.sub, ids)
		}
		if err != nil {
			return err
		}
	}
	if len(u.kept) == 0 || u.random.IntN(3) > 0 {
		return nil
	}
	ids := u.kept
	u.kept = nil
	return u.service.ModifyAckDeadline(ctx, u.sub, ids, 0)
}

// shortQueues is a bound with which keys overflow all the time.
const shortQueues = 30

// A backup of a subscription that keeps order has all that is not settled, each message once, and in order, although queues
// fill, break off and are filled again between any two of its steps.
func TestBackupInOrderInUse(t *testing.T) {
	t.Parallel()
	u := &orderedUser{usedStore: newUsed(t), random: rand.New(rand.NewPCG(1, 2))}
	u.service = subscriptions.NewService(u.store, subscriptions.Options{Outstanding: shortQueues})
	u.topic = u.usedStore.topic("p", "topic")
	u.subscribe("p", "held", u.topic, nil)
	u.sub = u.subscribe("p", "ordered", u.topic, func(s *subscriptions.Subscription) { s.Ordered = true })
	var mu sync.Mutex // a log is read and written at the same time
	o := quiet()
	o.SetHook(atCommand(func(context.Context) {
		mu.Lock()
		defer mu.Unlock()
		for range u.random.IntN(5) {
			if err := u.step(); err != nil {
				t.Error(err)
			}
		}
	}))
	target := emptyServer(t)
	for i := range 16 {
		wanted := u.copy(u.published)
		var file bytes.Buffer
		_, err := redisstream.Backup(t.Context(), u.url, &file, o)
		u.ok(err)
		for data := range u.copy(u.acked) {
			delete(wanted, data)
		}
		u.ok(target.Client(t).FlushAll(t.Context()).Err())
		restore(t, file.Bytes(), target.URL())
		drainInOrder(t, target.URL(), u.sub, i, wanted)
	}
}

// drainInOrder acks all that a subscription has, an hour later, when no lease is left.
func drainInOrder(t *testing.T, url string, sub subscriptions.SubscriptionName, i int, wanted map[string]bool) {
	t.Helper()
	later := open(t, url, redisstream.Options{
		Prefix: "postrider:", Log: silent(), Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	service := subscriptions.NewService(later, subscriptions.Options{Outstanding: shortQueues})
	last, got := map[string]subscriptions.MessageID{}, map[string]bool{}
	for empty := 0; empty < 3; empty++ {
		page, err := service.Pull(t.Context(), sub, 200, true)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range page {
			key, data := m.Message.OrderingKey, string(m.Message.Data)
			if got[data] || key != "" && m.Message.ID.Compare(last[key]) <= 0 {
				t.Errorf("backup %d: %s of key %q came after %s, again: %v", i, m.Message.ID, key, last[key], got[data])
			}
			last[key], got[data] = m.Message.ID, true
			ids = append(ids, m.AckID)
		}
		if len(ids) == 0 {
			continue
		}
		empty = 0
		if err := service.Acknowledge(t.Context(), sub, ids); err != nil {
			t.Fatal(err)
		}
	}
	missing := 0
	for data := range wanted {
		if !got[data] {
			missing++
		}
	}
	x, err := later.Subscription(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := later.Stats(t.Context(), x.Ref())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("backup %d: %d messages came, at least %d were wanted", i, len(got), len(wanted))
	if missing > 0 || stats.Lost > 0 || stats.Outstanding > 0 || stats.Undelivered > 0 || stats.Bytes != 0 {
		t.Errorf("backup %d: %d messages are missing; in the end %+v", i, missing, stats)
	}
}
