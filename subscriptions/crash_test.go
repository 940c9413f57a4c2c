package subscriptions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"postrider/subscriptions"
)

// mortalStore is what a server sees of the store that dies with it: after so
// many writes nothing of it gets through any more.
type mortalStore struct {
	subscriptions.Store
	left int
	died bool
}

var errDied = errors.New("the server died here")

// step lets a write through, or not.
func (m *mortalStore) step(write func() error) error {
	if m.left == 0 {
		m.died = true
		return errDied
	}
	m.left--
	return write()
}

func (m *mortalStore) InsertTopic(ctx context.Context, t subscriptions.Topic) error {
	return m.step(func() error { return m.Store.InsertTopic(ctx, t) })
}

func (m *mortalStore) ReplaceTopic(ctx context.Context, t subscriptions.Topic) error {
	return m.step(func() error { return m.Store.ReplaceTopic(ctx, t) })
}

func (m *mortalStore) RemoveTopic(ctx context.Context, n subscriptions.TopicName, uid string) error {
	return m.step(func() error { return m.Store.RemoveTopic(ctx, n, uid) })
}

func (m *mortalStore) OpenTopic(ctx context.Context, t subscriptions.TopicRef) error {
	return m.step(func() error { return m.Store.OpenTopic(ctx, t) })
}

func (m *mortalStore) CloseTopic(ctx context.Context, uid string) error {
	return m.step(func() error { return m.Store.CloseTopic(ctx, uid) })
}

func (m *mortalStore) InsertSubscription(ctx context.Context, s subscriptions.Subscription) error {
	return m.step(func() error { return m.Store.InsertSubscription(ctx, s) })
}

func (m *mortalStore) ReplaceSubscription(ctx context.Context, s subscriptions.Subscription) error {
	return m.step(func() error { return m.Store.ReplaceSubscription(ctx, s) })
}

func (m *mortalStore) RemoveSubscription(ctx context.Context, n subscriptions.SubscriptionName, uid string) error {
	return m.step(func() error { return m.Store.RemoveSubscription(ctx, n, uid) })
}

func (m *mortalStore) Attach(ctx context.Context, r subscriptions.Ref, n subscriptions.SubscriptionName) error {
	return m.step(func() error { return m.Store.Attach(ctx, r, n) })
}

func (m *mortalStore) Revise(ctx context.Context, r subscriptions.Ref) error {
	return m.step(func() error { return m.Store.Revise(ctx, r) })
}

func (m *mortalStore) Drop(ctx context.Context, topic, sub string) error {
	return m.step(func() error { return m.Store.Drop(ctx, topic, sub) })
}

func (m *mortalStore) InsertSnapshot(ctx context.Context, s subscriptions.Snapshot) error {
	return m.step(func() error { return m.Store.InsertSnapshot(ctx, s) })
}

func (m *mortalStore) ReplaceSnapshot(ctx context.Context, s subscriptions.Snapshot) error {
	return m.step(func() error { return m.Store.ReplaceSnapshot(ctx, s) })
}

func (m *mortalStore) RemoveSnapshot(ctx context.Context, n subscriptions.SnapshotName, uid string) error {
	return m.step(func() error { return m.Store.RemoveSnapshot(ctx, n, uid) })
}

func (m *mortalStore) TakeSnapshot(ctx context.Context, r subscriptions.Ref, snap subscriptions.SnapshotRef, n subscriptions.SnapshotName) (expires time.Time, err error) {
	err = m.step(func() error { expires, err = m.Store.TakeSnapshot(ctx, r, snap, n); return err })
	return expires, err
}

func (m *mortalStore) KeepSnapshot(ctx context.Context, snap subscriptions.SnapshotRef) (left time.Duration, err error) {
	err = m.step(func() error { left, err = m.Store.KeepSnapshot(ctx, snap); return err })
	return left, err
}

func (m *mortalStore) DropSnapshot(ctx context.Context, topic, snap string) error {
	return m.step(func() error { return m.Store.DropSnapshot(ctx, topic, snap) })
}

func (m *mortalStore) Trim(ctx context.Context, topic string) (more bool, err error) {
	err = m.step(func() error { more, err = m.Store.Trim(ctx, topic); return err })
	return more, err
}

func (m *mortalStore) Sweep(ctx context.Context, r subscriptions.SweepRequest) (res subscriptions.SweepResult, err error) {
	err = m.step(func() error { res, err = m.Store.Sweep(ctx, r); return err })
	return res, err
}

func (m *mortalStore) AppendDead(ctx context.Context, t subscriptions.TopicRef, source string, dead []subscriptions.Message, keep time.Duration) error {
	return m.step(func() error { return m.Store.AppendDead(ctx, t, source, dead, keep) })
}

func (m *mortalStore) SettleDead(ctx context.Context, r subscriptions.Ref, rs []subscriptions.Receipt) error {
	return m.step(func() error { return m.Store.SettleDead(ctx, r, rs) })
}

func (m *mortalStore) ForgetDead(ctx context.Context, topic, source string, ids []subscriptions.MessageID) error {
	return m.step(func() error { return m.Store.ForgetDead(ctx, topic, source, ids) })
}

func (m *mortalStore) InsertOperation(ctx context.Context, o subscriptions.Operation) error {
	return m.step(func() error { return m.Store.InsertOperation(ctx, o) })
}

func (m *mortalStore) ReplaceOperation(ctx context.Context, o subscriptions.Operation) error {
	return m.step(func() error { return m.Store.ReplaceOperation(ctx, o) })
}

func (m *mortalStore) Redrive(ctx context.Context, r subscriptions.RedriveRequest) (fates []subscriptions.RedriveFate, err error) {
	err = m.step(func() error { fates, err = m.Store.Redrive(ctx, r); return err })
	return fates, err
}

func (m *mortalStore) ForgetRedriven(ctx context.Context, topic string, letters []subscriptions.RedriveLetter, after time.Duration) error {
	return m.step(func() error { return m.Store.ForgetRedriven(ctx, topic, letters, after) })
}

func (m *mortalStore) Remove(ctx context.Context, r subscriptions.RemoveRequest) (fates []subscriptions.RemoveFate, err error) {
	err = m.step(func() error { fates, err = m.Store.Remove(ctx, r); return err })
	return fates, err
}

func (m *mortalStore) Discard(ctx context.Context, topic string, ids []subscriptions.MessageID) (fates []subscriptions.RemoveFate, err error) {
	err = m.step(func() error { fates, err = m.Store.Discard(ctx, topic, ids); return err })
	return fates, err
}

// crashEverywhere runs act on a server that dies before its first, second, …
// write, until one survives, and checks what is left each time once another
// server has had a few minutes.
func crashEverywhere(t *testing.T, prepare func(*world), act func(*world, *subscriptions.Service), check func(w *world, crashed bool)) {
	t.Helper()
	for writes := 0; ; writes++ {
		crashed := true
		t.Run(fmt.Sprintf("before write %d", writes+1), func(t *testing.T) {
			inWorld(t, func(w *world) {
				prepare(w)
				dying := &mortalStore{Store: w.store, left: writes}
				act(w, subscriptions.NewService(dying, subscriptions.Options{}))
				crashed = dying.died
				wait(5 * time.Minute)
				check(w, crashed)
			})
		})
		if !crashed || t.Failed() {
			return
		}
		if writes > 50 {
			t.Fatal("never gets through")
		}
	}
}

func TestCrashInCreateTopic(t *testing.T) {
	crashEverywhere(t, func(*world) {},
		func(w *world, s *subscriptions.Service) {
			s.CreateTopic(w.ctx, subscriptions.Topic{Name: topicName("orders")})
		},
		func(w *world, _ bool) {
			// The client, who had no answer, tries again and can go on.
			_, err := w.CreateTopic(w.ctx, subscriptions.Topic{Name: topicName("orders")})
			if err != nil {
				w.wantCode(err, subscriptions.AlreadyExists)
			}
			w.subscribe("orders", "billing")
			w.publish("orders", "a")
			w.want(w.pullTexts("billing"), "[a]")
			w.wholeCatalog()
		})
}

func TestCrashInCreateSubscription(t *testing.T) {
	crashEverywhere(t, func(w *world) { w.topic("orders") },
		func(w *world, s *subscriptions.Service) {
			s.CreateSubscription(w.ctx, subscriptions.Subscription{Name: subName("billing"), Topic: topicName("orders")})
		},
		func(w *world, _ bool) {
			w.wholeCatalog()
			_, err := w.CreateSubscription(w.ctx, subscriptions.Subscription{Name: subName("billing"), Topic: topicName("orders")})
			if err != nil {
				w.wantCode(err, subscriptions.AlreadyExists)
			}
			w.publish("orders", "a")
			w.want(w.pullTexts("billing"), "[a]")
		})
}

// The topic goes while a subscription to it is half-made.
func TestCrashInCreateSubscriptionOfATopicThatGoes(t *testing.T) {
	crashEverywhere(t, func(w *world) { w.topic("orders") },
		func(w *world, s *subscriptions.Service) {
			s.CreateSubscription(w.ctx, subscriptions.Subscription{Name: subName("billing"), Topic: topicName("orders")})
			w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		},
		func(w *world, _ bool) {
			w.wholeCatalog()
			w.topic("orders")
			_, err := w.GetSubscription(w.ctx, subName("billing"))
			if err != nil { // it was not made: then it can be
				w.wantCode(err, subscriptions.NotFound)
				w.subscribe("orders", "billing")
			}
		})
}

func TestCrashInDeleteTopic(t *testing.T) {
	crashEverywhere(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "kept")
	},
		func(w *world, s *subscriptions.Service) { s.DeleteTopic(w.ctx, topicName("orders")) },
		func(w *world, _ bool) {
			w.wholeCatalog()
			// Deleted or not, what was answered is there.
			w.want(w.pullTexts("billing"), "[kept]")
			if err := w.DeleteTopic(w.ctx, topicName("orders")); err != nil {
				w.wantCode(err, subscriptions.NotFound)
			}
			w.topic("orders")
			w.publish("orders", "new")
			wait(time.Minute)
			w.want(w.pullTexts("billing"), "[kept]")
		})
}

func TestCrashInDeleteSubscription(t *testing.T) {
	crashEverywhere(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "old")
	},
		func(w *world, s *subscriptions.Service) { s.DeleteSubscription(w.ctx, subName("billing")) },
		func(w *world, _ bool) {
			w.wholeCatalog()
			if err := w.DeleteSubscription(w.ctx, subName("billing")); err != nil {
				w.wantCode(err, subscriptions.NotFound)
			}
			names, err := w.store.Attached(w.ctx, w.topicUID("orders"))
			w.must(err)
			w.want(names, "[]")
			w.subscribe("orders", "billing")
			w.want(w.pullTexts("billing"), "[]")
		})
}

// Case 36: a crash between any two steps of a dead-letter move never leaves
// zero copies, nor two.
func TestCrashInADeadLetterMove(t *testing.T) {
	crashEverywhere(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "a", "b")
		w.stop() // nobody but the dying server is there to move anything
		for range 5 {
			w.nack("billing", w.pull("billing"))
		}
		w.want(w.stats("billing").Dead, 2)
	},
		func(w *world, dying *subscriptions.Service) {
			dying.SweepOnce(w.ctx, subName("billing"))
			w.start()
		},
		func(w *world, _ bool) {
			w.want(w.pullTexts("morgue"), "[a b]")
			st := w.stats("billing")
			w.want(st.Undelivered+st.Outstanding, 0)
			w.want(st.DeadLettered, 2)
		})
}

func TestCrashInCreateSnapshot(t *testing.T) {
	crashEverywhere(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a")
	},
		func(w *world, s *subscriptions.Service) {
			s.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("snap"), Subscription: subName("billing")})
		},
		func(w *world, _ bool) {
			w.wholeCatalog()
			_, err := w.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("snap"), Subscription: subName("billing")})
			if err != nil {
				w.wantCode(err, subscriptions.AlreadyExists)
			}
			w.ack("billing", w.pull("billing"))
			w.must(w.restore("billing", "snap"))
			w.ack("billing", w.pull("billing"))
			w.want(w.stats("billing").Acked, 2)
			w.must(w.DeleteSnapshot(w.ctx, snapName("snap")))
			w.want(w.length("orders"), 0)
		})
}

// The subscription goes while a snapshot of it is half-made.
func TestCrashInCreateSnapshotOfASubscriptionThatGoes(t *testing.T) {
	crashEverywhere(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a")
	},
		func(w *world, s *subscriptions.Service) {
			s.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("snap"), Subscription: subName("billing")})
			w.must(w.DeleteSubscription(w.ctx, subName("billing")))
		},
		func(w *world, _ bool) {
			w.wholeCatalog()
			if err := w.DeleteSnapshot(w.ctx, snapName("snap")); err != nil {
				w.wantCode(err, subscriptions.NotFound)
			}
			w.want(w.length("orders"), 0)
		})
}

func TestCrashInDeleteSnapshot(t *testing.T) {
	crashEverywhere(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a")
		w.snapshot("snap", "billing")
		w.ack("billing", w.pull("billing"))
	},
		func(w *world, s *subscriptions.Service) { s.DeleteSnapshot(w.ctx, snapName("snap")) },
		func(w *world, _ bool) {
			w.wholeCatalog()
			if err := w.DeleteSnapshot(w.ctx, snapName("snap")); err != nil {
				w.wantCode(err, subscriptions.NotFound)
			}
			w.want(w.length("orders"), 0)
			w.snapshot("snap", "billing")
		})
}

// wholeCatalog checks that every record is active.
func (w *world) wholeCatalog() {
	w.Helper()
	topics, err := w.store.ListTopics(w.ctx, "p", "", 100)
	w.must(err)
	for _, t := range topics {
		w.want(t.Phase, subscriptions.Active)
	}
	subs, err := w.store.ListSubscriptions(w.ctx, "p", "", 100)
	w.must(err)
	for _, s := range subs {
		w.want(s.Phase, subscriptions.Active)
	}
	snaps, err := w.store.ListSnapshots(w.ctx, "p", "", 100)
	w.must(err)
	for _, s := range snaps {
		w.want(s.Phase, subscriptions.Active)
	}
}

func (w *world) topicUID(id string) string {
	w.Helper()
	t, err := w.store.Topic(w.ctx, topicName(id))
	w.must(err)
	return t.UID
}
