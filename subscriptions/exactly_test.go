package subscriptions_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

func exactlyOnce(s *subscriptions.Subscription) { s.ExactlyOnce = true }

// failures are the ack ids that an error names, each with its reason, and nothing when there is none.
func (w *world) failures(err error) map[string]string {
	w.Helper()
	if err == nil {
		return map[string]string{}
	}
	var e *subscriptions.Error
	if !errors.As(err, &e) || e.Code != subscriptions.InvalidArgument || e.Info == nil || e.Info.Reason != "EXACTLY_ONCE_ACKID_FAILURE" {
		w.Fatalf("%v names no ack ids", err)
	}
	return e.Info.Metadata
}

const invalidAckID = "PERMANENT_FAILURE_INVALID_ACK_ID"

// An ack one second before the deadline counts, at whichever server; after it, it is told from the others, which count.
func TestExactlyOnceAcksByTheDeadline(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", exactlyOnce)
		other := w.server(w.store)
		w.publish("orders", "a", "b")
		got := w.pull("billing")
		wait(9 * time.Second)
		w.must(other.Acknowledge(w.ctx, subName("billing"), ackIDs(got[:1])))
		w.publish("orders", "c")
		late := w.pull("billing")
		wait(time.Second + time.Millisecond)
		err := other.Acknowledge(w.ctx, subName("billing"), []string{got[1].AckID, late[0].AckID})
		w.want(w.failures(err), map[string]string{got[1].AckID: invalidAckID})
		w.want(w.stats("billing").Acked, 2)
		w.want(w.pullTexts("billing"), "[b]")
	})
}

// Whose answer was lost may ask again as long as the lease would have lasted.
func TestExactlyOnceRepeatedAck(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", exactlyOnce)
		w.publish("orders", "a")
		got := w.pull("billing")
		w.ack("billing", got)
		wait(9 * time.Second)
		w.ack("billing", got)
		w.want(w.stats("billing").Acked, 1)
		wait(2 * time.Second)
		w.want(w.failures(w.Acknowledge(w.ctx, subName("billing"), ackIDs(got)))[got[0].AckID], invalidAckID)
	})
}

// Each delivery has its own ack id, and only the current one does anything.
func TestExactlyOnceSupersededIDs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", exactlyOnce)
		w.publish("orders", "a")
		first := w.pull("billing")
		w.nack("billing", first)
		second := w.pull("billing")
		if first[0].AckID == second[0].AckID {
			t.Fatal("two deliveries have the same ack id")
		}
		old := ackIDs(first)
		for what, err := range map[string]error{
			"ack":    w.Acknowledge(w.ctx, subName("billing"), old),
			"extend": w.ModifyAckDeadline(w.ctx, subName("billing"), old, time.Minute),
			"nack":   w.ModifyAckDeadline(w.ctx, subName("billing"), old, 0),
		} {
			if got := w.failures(err); got[old[0]] != invalidAckID || len(got) != 1 {
				t.Errorf("%s: %v", what, got)
			}
		}
		w.want(w.pullTexts("billing"), "[]") // the lease was left alone
		w.ack("billing", second)
		wait(time.Hour)
		w.want(w.pullTexts("billing"), "[]")
	})
}

// A malformed or foreign ack id is named, and the others take effect.
func TestExactlyOnceBadIDs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", exactlyOnce)
		w.subscribe("orders", "audit")
		w.publish("orders", "a", "b")
		mine, foreign := w.pull("billing"), w.pull("audit")
		err := w.Acknowledge(w.ctx, subName("billing"), []string{"nonsense", mine[0].AckID, foreign[0].AckID, "nonsense"})
		w.want(w.failures(err), map[string]string{"nonsense": invalidAckID, foreign[0].AckID: invalidAckID})
		w.want(w.stats("billing").Acked, 1)
		if err := w.Acknowledge(w.ctx, subName("billing"), []string{"nonsense"}); len(w.failures(err)) != 1 {
			t.Error("an ack id that is none by itself")
		}
		err = w.Acknowledge(w.ctx, subName("billing"), []string{mine[1].AckID, strings.Repeat("x", 1_000_000)})
		w.wantCode(err, subscriptions.InvalidArgument)
		w.want(w.stats("billing").Acked, 1) // what is that long is not worth an answer as long
	})
}

func TestExactlyOnceExtensionsThatFail(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", exactlyOnce)
		w.publish("orders", "a", "b")
		got := w.pull("billing")
		w.must(w.ModifyAckDeadline(w.ctx, subName("billing"), ackIDs(got[:1]), time.Minute))
		wait(11 * time.Second)
		err := w.ModifyAckDeadline(w.ctx, subName("billing"), ackIDs(got), time.Minute)
		w.want(w.failures(err), map[string]string{got[1].AckID: invalidAckID})
		wait(59 * time.Second)
		w.must(w.Acknowledge(w.ctx, subName("billing"), ackIDs(got[:1])))
		w.want(w.pullTexts("billing"), "[b]")
	})
}

// With exactly-once delivery one message of a key is outstanding at a time: an ack of what follows could not be for good.
func TestExactlyOnceInOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", exactlyOnce, ordered)
		w.send("orders", "k", "0", "1", "2")
		var seen []string
		for range 3 {
			got := w.pull("billing")
			seen = append(seen, texts(got))
			w.want(w.pullTexts("billing"), "[]")
			w.ack("billing", got)
		}
		w.want(seen, "[[0] [1] [2]]")
	})
}

// Turned on while a run is out, acks count in order only; turned off, they count late again.
func TestExactlyOnceTurnedOnAndOff(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		sub := w.subscribe("orders", "billing", ordered)
		turn := func(on bool) {
			_, err := w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: sub, ExactlyOnce: on}, []string{"enableExactlyOnceDelivery"})
			w.must(err)
		}
		w.send("orders", "k", "0", "1")
		got := w.pull("billing")
		w.want(texts(got), "[0 1]")
		turn(true)
		err := w.Acknowledge(w.ctx, sub, ackIDs(got[1:]))
		w.want(w.failures(err), map[string]string{got[1].AckID: "TRANSIENT_FAILURE_UNORDERED_ACK_ID"})
		slices.Reverse(got)
		w.must(w.Acknowledge(w.ctx, sub, ackIDs(got)))
		w.want(w.stats("billing").Acked, 2)
		w.send("orders", "k", "2")
		got = w.pull("billing")
		turn(false)
		wait(time.Minute)
		w.ack("billing", got)
		w.want(w.stats("billing").Acked, 3)
	})
}

func TestExactlyOnceIsForPullOnly(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		push := &subscriptions.PushConfig{Endpoint: "https://example.com/"}
		_, err := w.CreateSubscription(w.ctx, subscriptions.Subscription{Name: subName("both"), Topic: topicName("orders"), Push: push, ExactlyOnce: true})
		w.wantCode(err, subscriptions.InvalidArgument)
		sub := w.subscribe("orders", "pulled", exactlyOnce)
		w.wantCode(w.ModifyPushConfig(w.ctx, sub, push, nil), subscriptions.InvalidArgument)
		pushed := w.subscribe("orders", "pushed", func(s *subscriptions.Subscription) { s.Push = push })
		_, err = w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: pushed, ExactlyOnce: true}, []string{"enableExactlyOnceDelivery"})
		w.wantCode(err, subscriptions.InvalidArgument)
	})
}

// A detached subscription has nothing to ack.
func TestExactlyOnceDetached(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		sub := w.subscribe("orders", "billing", exactlyOnce)
		w.publish("orders", "a")
		got := w.pull("billing")
		w.must(w.DetachSubscription(w.ctx, sub))
		w.want(len(w.failures(w.Acknowledge(w.ctx, sub, ackIDs(got)))), 1)
	})
}

// A stale ack at a subscription with exactly-once delivery frees no place in the window of a stream that got the message again.
func TestExactlyOnceStaleAckFreesNoPlace(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", exactlyOnce)
		w.publish("orders", "a")
		st := w.stream("billing", subscriptions.StreamOptions{AckDeadline: time.Minute, MaxMessages: 1})
		first := w.next(st, time.Second)
		w.nack("billing", first)
		second := w.next(st, time.Second)
		w.want(texts(first)+texts(second), "[a][a]")
		w.publish("orders", "b")
		w.failures(w.Acknowledge(w.ctx, subName("billing"), ackIDs(first)))
		w.want(len(w.next(st, time.Second)), 0)
		w.ack("billing", second)
		w.want(texts(w.next(st, time.Second)), "[b]")
	})
}
