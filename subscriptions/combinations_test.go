package subscriptions_test

import (
	"testing"
	"time"

	"postrider/subscriptions"
)

// feature is what a subscription may have beside what a test is about.
type feature struct {
	name string
	on   func(*subscriptions.Subscription)
}

var features = []feature{
	{"plain", func(*subscriptions.Subscription) {}},
	{"filter", func(s *subscriptions.Subscription) { s.Filter = `NOT attributes:skip` }},
	{"routing", func(s *subscriptions.Subscription) {
		s.Routing = &subscriptions.Routing{Attribute: "kind", Pattern: "#"}
	}},
	{"order", func(s *subscriptions.Subscription) { s.Ordered = true }},
	{"exactly once", func(s *subscriptions.Subscription) { s.ExactlyOnce = true }},
	{"order, exactly once, filter", func(s *subscriptions.Subscription) {
		s.Ordered, s.ExactlyOnce, s.Filter = true, true, `attributes:kind`
	}},
	{"retained", func(s *subscriptions.Subscription) { s.RetainAcked = true }},
}

// inEvery runs a test with each feature: on a topic orders with a subscription
// billing, which has a dead-letter topic dead, which morgue gets.
func inEvery(t *testing.T, test func(*world)) {
	for _, f := range features {
		t.Run(f.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.topic("orders")
				w.topic("dead")
				w.subscribe("dead", "morgue")
				w.subscribe("orders", "billing", deadLetterTo("dead"), f.on)
				test(w)
			})
		})
	}
}

// sendKeyed publishes messages of one key that every feature selects, one after the other.
func (w *world) sendKeyed(texts ...string) {
	w.Helper()
	for _, text := range texts {
		_, err := w.Publish(w.ctx, topicName("orders"), []subscriptions.Message{{
			Data: []byte(text), OrderingKey: "k", Attributes: map[string]string{"kind": "a.b"},
		}})
		w.must(err)
	}
}

// drain pulls and acks all that comes.
func (w *world) drain(sub string) (all string) {
	w.Helper()
	for {
		got := w.pull(sub)
		if len(got) == 0 {
			return all
		}
		for _, r := range got {
			all += string(r.Message.Data)
		}
		w.ack(sub, got)
	}
}

// refuse has the oldest message delivered as often as it may be, and lets it move.
func (w *world) refuse() {
	w.Helper()
	for range 5 {
		w.nack("billing", w.pull("billing"))
	}
	wait(time.Second)
}

func (w *world) backlog() int64 {
	w.Helper()
	st := w.stats("billing")
	return st.Undelivered + st.Outstanding
}

func TestADeletedTopicWithEveryFeature(t *testing.T) {
	inEvery(t, func(w *world) {
		start := time.Now()
		w.sendKeyed("a", "b")
		w.snapshot("snap", "billing")
		w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		w.topic("orders") // another
		w.sendKeyed("x")
		w.want(w.drain("billing"), "ab")
		w.must(w.restore("billing", "snap"))
		w.want(w.drain("billing"), "ab")
		w.must(w.Seek(w.ctx, subName("billing"), subscriptions.SeekTarget{Time: &start}))
		if got := w.drain("billing"); got != "" && got != "ab" {
			w.Fatalf("after a seek in time: %q", got)
		}
		w.must(w.restore("billing", "snap"))
		w.want(w.backlog(), 2)
		w.refuse() // dead letters go where they went
		w.want(w.backlog() < 2, true)
		w.must(w.DeleteSubscription(w.ctx, subName("billing")))
		w.must(w.DeleteSnapshot(w.ctx, snapName("snap")))
	})
}

func TestDetachWithEveryFeature(t *testing.T) {
	inEvery(t, func(w *world) {
		w.sendKeyed("a", "b")
		w.snapshot("snap", "billing")
		got := w.pull("billing")
		w.must(w.DetachSubscription(w.ctx, subName("billing")))
		_, err := w.Pull(w.ctx, subName("billing"), 10, true)
		w.wantCode(err, subscriptions.FailedPrecondition)
		w.wantCode(w.restore("billing", "snap"), subscriptions.FailedPrecondition)
		_, err = w.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("late"), Subscription: subName("billing")})
		w.wantCode(err, subscriptions.FailedPrecondition)
		if err := w.ModifyAckDeadline(w.ctx, subName("billing"), ackIDs(got), 0); err != nil {
			w.wantCode(err, subscriptions.InvalidArgument) // exactly once says so
		}
		wait(time.Minute)
		w.want(w.pullTexts("morgue"), "[]")
		w.must(w.DeleteSnapshot(w.ctx, snapName("snap")))
		w.want(w.length("orders"), 0) // nothing is held for what is detached
	})
}

func TestDeadLettersWithEveryFeature(t *testing.T) {
	inEvery(t, func(w *world) {
		w.sendKeyed("a")
		w.snapshot("snap", "billing")
		w.refuse()
		w.want(w.drain("morgue"), "a")
		w.want(w.backlog(), 0)
		w.sendKeyed("b") // the key is free
		w.want(w.drain("billing"), "b")
		w.must(w.restore("billing", "snap"))
		got := w.pull("billing")
		w.want(got[0].Attempt, 1)
		w.want(string(got[0].Message.Data), "a")
		w.nack("billing", got)
		w.want(w.drain("billing"), "ab")
	})
}

// A message that a seek brings back is dead-lettered again.
func TestADeadLetterComesAgainAfterASeek(t *testing.T) {
	inEvery(t, func(w *world) {
		w.sendKeyed("a")
		w.snapshot("snap", "billing")
		for range 2 {
			w.refuse()
			w.want(w.drain("morgue"), "a")
			w.must(w.restore("billing", "snap"))
		}
		w.want(w.backlog(), 1)
	})
}

func TestAMissingDeadLetterTopicWithEveryFeature(t *testing.T) {
	inEvery(t, func(w *world) {
		w.sendKeyed("a", "b")
		w.snapshot("snap", "billing")
		w.must(w.DeleteTopic(w.ctx, topicName("dead")))
		w.refuse()
		w.want(w.backlog(), 2)
		w.warned("billing", "projects/p/topics/dead")
		w.must(w.restore("billing", "snap")) // the exhausted live again
		w.want(w.stats("billing").Dead, 0)
		w.want(w.drain("billing"), "ab")
		w.must(w.restore("billing", "snap"))
		w.refuse()
		dead := w.stats("billing").Dead
		w.topic("dead")
		w.subscribe("dead", "tomb")
		wait(6 * time.Second)
		w.want(w.stats("billing").Dead, 0)
		w.want(len(w.pull("tomb")), dead)
		w.warned()
	})
}

// Case 30: what outlives the retention is dropped and counted once, and nothing
// empty is delivered, wherever it stands.
func TestRetentionWithEveryFeature(t *testing.T) {
	inEvery(t, func(w *world) {
		_, err := w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: subName("billing"), Retention: time.Hour}, []string{"messageRetentionDuration"})
		w.must(err)
		w.sendKeyed("a", "b")
		w.snapshot("snap", "billing")
		w.pull("billing") // leased, or parked behind it
		w.sendKeyed("c")
		wait(2 * time.Hour)
		w.want(w.backlog(), 0)
		w.want(w.stats("billing").Dropped, 3)
		w.want(w.drain("billing"), "")
		w.must(w.restore("billing", "snap"))
		w.sendKeyed("d")
		w.want(w.drain("billing"), "d")
		w.want(w.pullTexts("morgue"), "[]") // nor is it a dead letter
	})
}
