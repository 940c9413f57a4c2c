package subscriptions_test

import (
	"fmt"
	"testing"
	"time"

	"postrider/subscriptions"
)

func snapName(id string) subscriptions.SnapshotName {
	return subscriptions.SnapshotName{Project: "p", ID: id}
}

// snapshot takes a snapshot of a subscription.
func (w *world) snapshot(id, sub string) subscriptions.Snapshot {
	w.Helper()
	snap, err := w.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName(id), Subscription: subName(sub)})
	w.must(err)
	return snap
}

func (w *world) seek(sub string, to time.Time) {
	w.Helper()
	w.must(w.Seek(w.ctx, subName(sub), subscriptions.SeekTarget{Time: &to}))
}

func (w *world) restore(sub, snap string) error {
	name := snapName(snap)
	return w.Seek(w.ctx, subName(sub), subscriptions.SeekTarget{Snapshot: &name})
}

// length is how many messages the log of a topic holds.
func (w *world) length(topic string) int {
	w.Helper()
	return w.store.(interface{ LogLength(string) int }).LogLength(w.topicUID(topic))
}

func TestSeekToATime(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := w.CreateTopic(w.ctx, subscriptions.Topic{Name: topicName("orders"), Retention: time.Hour})
		w.must(err)
		w.publish("orders", "a")
		wait(time.Minute)
		w.subscribe("orders", "billing")
		w.publish("orders", "b")
		wait(time.Minute)
		old := w.pull("billing")
		w.want(texts(old), "[b]")
		w.seek("billing", time.Now().Add(-5*time.Minute)) // before the subscription was there
		w.ack("billing", old)                             // means nothing any more
		w.want(w.stats("billing").Undelivered, 2)
		w.want(w.pullTexts("billing"), "[a b]")
		w.seek("billing", time.Now().Add(time.Hour))
		w.want(w.stats("billing").Undelivered+w.stats("billing").Outstanding, 0)
		w.publish("orders", "c")
		w.want(w.pullTexts("billing"), "[c]")
	})
}

func TestASeekWakesALongPullOnAnotherServer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.RetainAcked = true })
		other := w.server(w.store)
		start := time.Now()
		w.publish("orders", "a")
		w.ack("billing", w.pull("billing"))
		got := make(chan string, 1)
		go func() {
			received, err := other.Pull(w.ctx, subName("billing"), 10, false)
			got <- fmt.Sprint(texts(received), " ", err)
		}()
		wait(time.Second)
		w.seek("billing", start)
		wait(0)
		w.want(<-got, "[a] <nil>")
		w.want(time.Since(start), time.Second)
	})
}

func TestWhatASeekRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("other")
		w.subscribe("orders", "billing")
		w.subscribe("other", "else")
		w.snapshot("snap", "billing")
		now, name, missing := time.Now(), snapName("snap"), snapName("missing")
		refused := func(code subscriptions.Code, sub string, to subscriptions.SeekTarget) {
			t.Helper()
			w.wantCode(w.Seek(w.ctx, subName(sub), to), code)
		}
		refused(subscriptions.NotFound, "nobody", subscriptions.SeekTarget{}) // comes before what else is wrong
		refused(subscriptions.InvalidArgument, "billing", subscriptions.SeekTarget{})
		refused(subscriptions.InvalidArgument, "billing", subscriptions.SeekTarget{Time: &now, Snapshot: &name})
		refused(subscriptions.NotFound, "billing", subscriptions.SeekTarget{Snapshot: &missing})
		refused(subscriptions.FailedPrecondition, "else", subscriptions.SeekTarget{Snapshot: &name})
		w.must(w.DetachSubscription(w.ctx, subName("billing")))
		refused(subscriptions.FailedPrecondition, "billing", subscriptions.SeekTarget{Time: &now})
		refused(subscriptions.FailedPrecondition, "billing", subscriptions.SeekTarget{Snapshot: &name})
	})
}

func TestSnapshots(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a", "b")
		w.ack("billing", w.pull("billing")[:1])
		made := w.snapshot("snap", "billing")
		w.want(made.Topic, "projects/p/topics/orders")
		w.want(time.Until(made.Expires), 7*24*time.Hour)
		got, err := w.GetSnapshot(w.ctx, snapName("snap"))
		w.must(err)
		w.want(got, made)
		w.publish("orders", "c")
		w.want(w.length("orders"), 2)
		_, err = w.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("snap"), Subscription: subName("billing")})
		w.wantCode(err, subscriptions.AlreadyExists)
		_, err = w.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("more"), Subscription: subName("nobody")})
		w.wantCode(err, subscriptions.NotFound)
		_, err = w.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("more"), Subscription: subName("billing"), Labels: map[string]string{"A": "b"}})
		w.wantCode(err, subscriptions.InvalidArgument)
		wait(time.Minute)
		w.seek("billing", time.Now())
		w.must(w.restore("billing", "snap"))
		w.want(w.pullTexts("billing"), "[b c]")
		names, _, err := w.ListTopicSnapshots(w.ctx, topicName("orders"), subscriptions.Page{})
		w.must(err)
		w.want(names, "[projects/p/snapshots/snap]")
		page, _, err := w.ListSnapshots(w.ctx, "p", subscriptions.Page{})
		w.must(err)
		w.want(len(page), 1)
		w.must(w.DeleteSnapshot(w.ctx, snapName("snap")))
		w.wantCode(w.DeleteSnapshot(w.ctx, snapName("snap")), subscriptions.NotFound)
		w.wantCode(w.restore("billing", "snap"), subscriptions.NotFound)
		names, _, err = w.ListTopicSnapshots(w.ctx, topicName("orders"), subscriptions.Page{})
		w.must(err)
		w.want(len(names), 0)
	})
}

func TestSnapshotsExpire(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "never", func(s *subscriptions.Subscription) { s.Retention = subscriptions.MaxRetention; s.Expiration = 0 })
		w.publish("orders", "a")
		wait(6*24*time.Hour + 22*time.Hour)
		snap := w.snapshot("snap", "never")
		w.want(time.Until(snap.Expires), 2*time.Hour)
		wait(time.Hour)
		w.snapshot("last", "never")
		wait(time.Millisecond)
		_, err := w.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("late"), Subscription: subName("never")})
		w.wantCode(err, subscriptions.FailedPrecondition)
		_, err = w.store.Snapshot(w.ctx, snapName("late"))
		w.wantCode(err, subscriptions.NotFound) // no record is left of it
		w.ack("never", w.pull("never"))
		wait(time.Hour - 2*time.Millisecond)
		_, err = w.GetSnapshot(w.ctx, snapName("snap"))
		w.must(err)
		w.want(w.length("orders"), 1)
		wait(2 * time.Millisecond)
		_, err = w.GetSnapshot(w.ctx, snapName("snap"))
		w.wantCode(err, subscriptions.NotFound)
		w.want(w.length("orders"), 0)
	})
}

func TestASnapshotIsKeptShorter(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		made := w.snapshot("snap", "billing")
		patch := func(expires time.Time, labels map[string]string, mask ...string) (subscriptions.Snapshot, error) {
			return w.UpdateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("snap"), Expires: expires, Labels: labels}, mask)
		}
		hour := time.Now().Add(time.Hour)
		got, err := patch(hour, map[string]string{"a": "b"}, "expire_time", "labels")
		w.must(err)
		w.want(got.Expires.Equal(hour), true)
		w.want(got.Labels, "map[a:b]")
		for _, wrong := range []time.Time{time.Now(), made.Expires.Add(time.Millisecond), {}} {
			_, err = patch(wrong, nil, "expireTime")
			w.wantCode(err, subscriptions.InvalidArgument)
		}
		for _, mask := range []string{"name", "topic", "bogus"} {
			_, err = patch(hour, nil, mask)
			w.wantCode(err, subscriptions.InvalidArgument)
		}
		_, err = patch(made.Expires, nil, "expireTime") // as long as at first
		w.must(err)
		_, err = patch(hour, nil, "expireTime")
		w.must(err)
		wait(time.Hour + time.Second)
		_, err = patch(made.Expires, nil, "expireTime")
		w.wantCode(err, subscriptions.NotFound)
		_, err = w.GetSnapshot(w.ctx, snapName("snap"))
		w.wantCode(err, subscriptions.NotFound)
	})
}

// A snapshot outlives its subscription, and its topic, without which it is of no use.
func TestWhatASnapshotIsOfGoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a")
		w.snapshot("snap", "billing")
		w.must(w.DeleteSubscription(w.ctx, subName("billing")))
		w.subscribe("orders", "billing")
		w.must(w.restore("billing", "snap"))
		w.want(w.pullTexts("billing"), "[a]")
		w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		got, err := w.GetSnapshot(w.ctx, snapName("snap"))
		w.must(err)
		w.want(got.TopicDeleted, true)
		w.must(w.restore("billing", "snap"))
		w.topic("orders")
		w.subscribe("orders", "new")
		w.wantCode(w.restore("new", "snap"), subscriptions.FailedPrecondition)
		w.must(w.DeleteSnapshot(w.ctx, snapName("snap")))
	})
}

func TestStreamsFreeWhatASeekTakes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.RetainAcked = true })
		start := time.Now()
		w.publish("orders", "a", "b")
		st := w.stream("billing", subscriptions.StreamOptions{AckDeadline: 10 * time.Minute, MaxMessages: 2})
		defer st.Close()
		w.want(texts(w.next(st, time.Second)), "[a b]")
		w.publish("orders", "c")
		w.want(len(w.next(st, time.Second)), 0)
		w.seek("billing", start) // its window is free again
		w.want(texts(w.next(st, time.Second)), "[a b]")
	})
}

// What a subscription with a filter gets is what it selects, so a snapshot must have been taken of one that selects the same.
func TestSnapshotsAndFilters(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		filter := func(expression string) func(*subscriptions.Subscription) {
			return func(s *subscriptions.Subscription) { s.Filter = expression }
		}
		w.subscribe("orders", "all")
		w.subscribe("orders", "some", filter("attributes:k"))
		w.subscribe("orders", "same", filter("attributes:k"))
		w.subscribe("orders", "other", filter("attributes:other"))
		_, err := w.Publish(w.ctx, topicName("orders"), []subscriptions.Message{{Data: []byte("a")}, {Data: []byte("b"), Attributes: map[string]string{"k": "v"}}})
		w.must(err)
		w.pull("some")
		w.snapshot("of-some", "some")
		w.snapshot("of-all", "all")
		for _, sub := range []string{"some", "same", "all"} {
			w.must(w.restore(sub, "of-some"))
			w.want(w.pullTexts(sub), "[b]")
		}
		w.wantCode(w.restore("other", "of-some"), subscriptions.FailedPrecondition)
		w.wantCode(w.restore("some", "of-all"), subscriptions.FailedPrecondition)
	})
}

func TestAnUndoneSeek(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a", "b")
		future := time.Now().Add(time.Hour)
		to := subscriptions.SeekTarget{Time: &future}
		would, err := w.SeekUndoably(w.ctx, subName("billing"), to, subscriptions.SeekOptions{ValidateOnly: true})
		w.must(err)
		w.want(would.Acked, 2)
		done, err := w.SeekUndoably(w.ctx, subName("billing"), to, subscriptions.SeekOptions{})
		w.must(err)
		w.want(w.pullTexts("billing"), "[]")
		w.must(w.Seek(w.ctx, subName("billing"), subscriptions.SeekTarget{Snapshot: &done.Undo}))
		w.want(w.pullTexts("billing"), "[a b]")
		missing := snapName("missing")
		_, err = w.SeekUndoably(w.ctx, subName("billing"), subscriptions.SeekTarget{Snapshot: &missing}, subscriptions.SeekOptions{})
		w.wantCode(err, subscriptions.NotFound)
		page, _, err := w.ListSnapshots(w.ctx, "p", subscriptions.Page{})
		w.must(err)
		w.want(len(page), 1) // what was refused left none behind
	})
}
