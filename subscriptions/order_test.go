package subscriptions_test

import (
	"fmt"
	"testing"
	"time"

	"postrider/subscriptions"
)

func ordered(s *subscriptions.Subscription) { s.Ordered = true }

// send publishes texts under one ordering key.
func (w *world) send(topic, key string, texts ...string) {
	w.Helper()
	msgs := make([]subscriptions.Message, len(texts))
	for i, s := range texts {
		msgs[i] = subscriptions.Message{Data: []byte(s), OrderingKey: key}
	}
	_, err := w.Publish(w.ctx, topicName(topic), msgs)
	w.must(err)
}

// Case 26.
func TestANackBringsAllLaterOfTheKeyAgainInOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", ordered, func(s *subscriptions.Subscription) {
			s.Retry = &subscriptions.RetryPolicy{Minimum: 5 * time.Second, Maximum: 5 * time.Second}
		})
		w.send("orders", "k", "0", "1", "2", "3", "4")
		got := w.pull("billing")
		w.want(texts(got), "[0 1 2 3 4]")
		w.nack("billing", got[:1])
		w.send("orders", "other", "x")
		other := w.pull("billing")
		w.want(texts(other), "[x]")
		w.ack("billing", other)
		w.want(w.pullTexts("billing"), "[]")
		wait(5 * time.Second)
		w.want(w.pullTexts("billing"), "[0 1 2 3 4]")
	})
}

// Case 24.
func TestADeadHeadFreesItsKeyWithinASecond(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "billing", ordered, deadLetterTo("dead"))
		w.send("orders", "a1", "poison", "next")
		for range 5 {
			w.nack("billing", w.pull("billing")[:1])
		}
		wait(time.Second)
		got := w.pull("billing")
		w.want(texts(got), "[next]")
		w.ack("billing", got)
		w.send("orders", "a1", "new")
		w.want(w.pullTexts("billing"), "[new]")
	})
}

func TestALongPullGetsTheNextOfAKeyAtTheAck(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", ordered)
		w.send("orders", "k", "0")
		first := w.pull("billing")
		w.send("orders", "k", "1")
		start := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			w.ack("billing", first)
		}()
		got, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(texts(got), "[1]")
		w.want(time.Since(start), 3*time.Second)
	})
}

// A blocked key that fills more than one step must not end a pull without the
// others.
func TestABlockedKeyDoesNotHideTheOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", ordered)
		w.send("orders", "hot", "0")
		w.want(w.pullTexts("billing"), "[0]")
		for i := range 9 {
			var many []string
			for j := range 100 {
				many = append(many, fmt.Sprint(i*100+j))
			}
			w.send("orders", "hot", many...)
		}
		w.send("orders", "cold", "x")
		got, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(texts(got), "[x]")
		w.want(w.stats("billing").Parked, 900)
	})
}
