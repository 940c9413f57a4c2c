package subscriptions_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

// publishTimed publishes one message with attributes, given as keys and values.
func (w *world) publishTimed(topic, text string, attributes ...string) subscriptions.MessageID {
	w.Helper()
	m := subscriptions.Message{Data: []byte(text), Attributes: map[string]string{}}
	for i := 0; i < len(attributes); i += 2 {
		m.Attributes[attributes[i]] = attributes[i+1]
	}
	ids, err := w.Publish(w.ctx, topicName(topic), []subscriptions.Message{m})
	w.must(err)
	return ids[0]
}

// TestDelayedComesInTime: one minute ahead is absent at 59 s and there at 61 s, with its id, its publish time and its
// attributes as they were.
func TestDelayedComesInTime(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("topic")
		w.subscribe("topic", "sub")
		published := time.Now()
		at := published.Add(time.Minute).Format(time.RFC3339)
		id := w.publishTimed("topic", "a", subscriptions.AttributeDeliverAt, at)
		wait(59 * time.Second)
		w.want(w.pullTexts("sub"), "[]")
		wait(2 * time.Second)
		got := w.pull("sub")
		w.want(texts(got), "[a]")
		w.want(got[0].Message.ID, id)
		w.want(got[0].Message.PublishTime().Equal(published), true)
		w.want(got[0].Message.Attributes[subscriptions.AttributeDeliverAt], at)
		w.ack("sub", got)
		w.want(w.stats("sub").Acked, 1)
	})
}

// TestDelayedWakesWaiters: who waits gets it at the very moment, however it was published and whoever waits since when.
func TestDelayedWakesWaiters(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("topic")
		w.subscribe("topic", "before")
		w.subscribe("topic", "after")
		other := w.server(w.store)
		start := time.Now()
		came := make(chan string, 2)
		pull := func(s *subscriptions.Service, sub string) {
			got, err := s.Pull(w.ctx, subName(sub), 1, false)
			came <- fmt.Sprint(sub, " ", texts(got), " ", err, " ", time.Since(start))
		}
		go pull(other, "before")
		synctest.Wait()
		w.publishTimed("topic", "a", subscriptions.AttributeDeliverAt, "17.25s")
		go pull(other, "after")
		got := []string{<-came, <-came}
		slices.Sort(got)
		w.want(got, "[after [a] <nil> 17.25s before [a] <nil> 17.25s]")
	})
}

// TestDelayedWithNobodyWaiting: the log has it in time, so that its retention begins, whichever server is left.
func TestDelayedWithNobodyWaiting(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("topic")
		w.subscribe("topic", "sub")
		length := func() int {
			record, err := w.store.Topic(w.ctx, topicName("topic"))
			w.must(err)
			return w.store.(*memory.Store).LogLength(record.UID)
		}
		w.publishTimed("topic", "a", subscriptions.AttributeDeliverAt, "40")
		w.publishTimed("topic", "b", subscriptions.AttributeDeliverAt, "7200")
		wait(39 * time.Second)
		w.want(length(), 0)
		wait(2 * time.Second)
		w.want(length(), 1)
		w.stop()
		w.start() // a server that did not publish it
		wait(2*time.Hour - time.Minute)
		w.want(length(), 1)
		wait(13 * time.Minute) // its sweep is slow
		w.want(length(), 2)
	})
}

func TestDelayedIsListedAndCancelled(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("topic")
		w.subscribe("topic", "sub")
		var ids []string
		for i := range 5 {
			ids = append(ids, w.publishTimed("topic", "data", subscriptions.AttributeDeliverAt, fmt.Sprint(10*(i+1))).String())
		}
		page, next, err := w.Delayed(w.ctx, topicName("topic"), subscriptions.Page{Size: 3})
		w.must(err)
		rest, end, err := w.Delayed(w.ctx, topicName("topic"), subscriptions.Page{Size: 3, Token: next})
		w.must(err)
		w.want([]any{len(page.Messages), len(rest.Messages), page.Count, rest.Count, end}, []any{3, 2, 5, 5, ""})
		w.want(rest.Messages[1].Message.ID, ids[4])
		w.want(time.Until(rest.Messages[1].Due), 50*time.Second)
		wait(10 * time.Second)
		cancelled, err := w.CancelDelayed(w.ctx, topicName("topic"), ids[:2])
		w.must(err)
		w.want(cancelled, "["+ids[1]+"]")
		wait(time.Minute)
		w.want(w.pullTexts("sub"), "[data data data data]")
		count, bytes, err := w.CountDelayed(w.ctx, topicName("topic"))
		w.must(err)
		w.want([]int64{count, bytes}, []int64{0, 0})
	})
}

func TestDelayedIsRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("topic")
		for _, p := range []subscriptions.Page{{Token: "x"}, {Size: -1}} {
			_, _, err := w.Delayed(w.ctx, topicName("topic"), p)
			w.wantCode(err, subscriptions.InvalidArgument)
		}
		for _, ids := range [][]string{nil, {"x"}, make([]string, subscriptions.MaxCancel+1)} {
			_, err := w.CancelDelayed(w.ctx, topicName("topic"), ids)
			w.wantCode(err, subscriptions.InvalidArgument)
		}
		_, _, err := w.Delayed(w.ctx, topicName("none"), subscriptions.Page{})
		w.wantCode(err, subscriptions.NotFound)
		_, err = w.CancelDelayed(w.ctx, topicName("none"), nil)
		w.wantCode(err, subscriptions.NotFound)
		w.publishTimed("topic", "a", subscriptions.AttributeDeliverAt, "10")
		w.must(w.DeleteTopic(w.ctx, topicName("topic")))
		w.topic("topic")
		count, _, err := w.CountDelayed(w.ctx, topicName("topic"))
		w.must(err)
		w.want(count, 0)
	})
}

// lateToDead dead-letters what is late, to a topic "dead" with a subscription "letters".
func (w *world) lateToDead() {
	w.Helper()
	w.topic("topic")
	w.topic("dead")
	w.subscribe("dead", "letters")
	w.subscribe("topic", "sub", deadLetterTo("dead"), func(s *subscriptions.Subscription) { s.DeadLetterLate = true })
}

// TestLateIsDropped: at its time a message goes, though nobody asks for it.
func TestLateIsDropped(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("topic")
		w.subscribe("topic", "sub")
		w.publishTimed("topic", "a", subscriptions.AttributeTTL, "60")
		w.publishTimed("topic", "b", subscriptions.AttributeTTL, "86400")
		wait(59 * time.Second)
		w.want(w.pullTexts("sub"), "[a b]")
		wait(11 * time.Second) // the lease ran out
		w.want(w.pullTexts("sub"), "[b]")
		wait(15 * time.Minute)
		w.want(w.stats("sub").Late, 1)
		w.want(w.stats("sub").Outstanding, 1)
	})
}

func TestLateIsDeadLettered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.lateToDead()
		w.publishTimed("topic", "seen", subscriptions.AttributeTTL, "60", "k", "v")
		w.nack("sub", w.pull("sub"))
		w.publishTimed("topic", "unseen", subscriptions.AttributeTTL, "90", subscriptions.AttributeDeliverAt, "30")
		wait(15 * time.Minute) // nobody pulls
		got := w.pull("letters")
		w.want(len(got), 2)
		for _, r := range got {
			a := r.Message.Attributes
			attempts := map[string]string{"seen": "1", "unseen": "0"}[string(r.Message.Data)]
			w.want(a["CloudPubSubDeadLetterSourceDeliveryCount"], attempts)
			w.want(a[subscriptions.ReasonAttribute], subscriptions.ReasonLate)
		}
		w.want(got[0].Message.Attributes["k"]+got[1].Message.Attributes["k"], "v")
		stats := w.stats("sub")
		w.want([]int64{stats.DeadLettered, stats.Late, stats.Undelivered, stats.Outstanding}, []int64{2, 0, 0, 0})
	})
}

// TestLateIsDeadLetteredSoon: a sweep knows when the first message will be late.
func TestLateIsDeadLetteredSoon(t *testing.T) {
	inWorld(t, func(w *world) {
		w.lateToDead()
		w.publishTimed("topic", "a", subscriptions.AttributeTTL, "3600")
		wait(time.Hour + time.Second)
		w.want(w.pullTexts("letters"), "[a]")
	})
}

// TestLateNeedsDeadLetterTopic: without a dead-letter policy there is nowhere to go.
func TestLateNeedsDeadLetterTopic(t *testing.T) {
	inWorld(t, func(w *world) {
		w.lateToDead()
		_, err := w.CreateSubscription(w.ctx, subscriptions.Subscription{Name: subName("other"), Topic: topicName("topic"), DeadLetterLate: true})
		w.wantCode(err, subscriptions.InvalidArgument)
		_, err = w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: subName("sub")}, []string{"deadLetterPolicy"})
		w.wantCode(err, subscriptions.InvalidArgument)
		_, err = w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: subName("sub")}, []string{"deadLetterPolicy", "postrider.expiredMessages"})
		w.must(err)
		w.publishTimed("topic", "a", subscriptions.AttributeTTL, "1")
		wait(2 * time.Second)
		w.want(w.pullTexts("sub"), "[]")
		w.want(w.stats("sub").Late, 1)
	})
}
