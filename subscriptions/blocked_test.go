package subscriptions_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"postrider/subscriptions"
)

func retryEvery(d time.Duration) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) { s.Retry = &subscriptions.RetryPolicy{Minimum: d, Maximum: d} }
}

// blocked lists which messages block keys.
func (w *world) blocked(sub string) []subscriptions.Block {
	w.Helper()
	blocks, next, err := w.BlockedKeys(w.ctx, subName(sub), subscriptions.Page{})
	w.must(err)
	w.want(next, "")
	return blocks
}

func unblocking(b subscriptions.Block) subscriptions.Unblocking {
	return subscriptions.Unblocking{OrderingKey: b.Head.Message.OrderingKey, MessageID: b.Head.Message.ID.String()}
}

// Case 25: one call says which keys are blocked, since when, by which message, with which last error; one call drops the head.
func TestABlockedKeyIsShownAndFreed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", ordered, retryEvery(time.Minute))
		w.send("orders", "k", "0", "1", "2")
		w.nack("billing", w.pull("billing")[:1])
		wait(10 * time.Second)
		b := w.blocked("billing")
		if len(b) != 1 {
			t.Fatalf("blocked keys: %+v", b)
		}
		w.want(b[0].Head.Message.OrderingKey, "k")
		w.want(string(b[0].Head.Message.Data), "0")
		failed := b[0].Head.Failed
		w.want(fmt.Sprint(time.Since(b[0].Since), time.Until(b[0].Next), b[0].Behind, b[0].Head.Attempt, len(failed)), "10s 50s 2 1 1")
		w.want(fmt.Sprintf("%d %v %s", failed[0].Number, time.Since(failed[0].Time), failed[0].Reason), "1 10s "+subscriptions.ReasonRefused)
		start := time.Now()
		time.AfterFunc(time.Second, func() { w.must(w.UnblockKey(w.ctx, subName("billing"), unblocking(b[0]))) })
		got, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(texts(got), "[1 2]")
		w.want(time.Since(start), time.Second)
		w.ack("billing", got)
		w.want(len(w.blocked("billing")), 0)
		w.want(w.stats("billing"), subscriptions.Stats{Acked: 3, Nacked: 1})
	})
}

func TestABlockedKeysHeadIsDeadLettered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		w.subscribe("orders", "billing", ordered, deadLetterTo("dead"), retryEvery(time.Minute))
		w.send("orders", "k", "0", "1")
		first := w.pull("billing")
		w.nack("billing", first[:1])
		u := unblocking(w.blocked("billing")[0])
		u.DeadLetter = true
		w.must(w.UnblockKey(w.ctx, subName("billing"), u))
		letter := w.pull("morgue")
		w.want(texts(letter), "[0]")
		w.want(letter[0].Message.Attributes["CloudPubSubDeadLetterSourceDeliveryCount"], 1)
		w.want(w.pullTexts("billing"), "[1]")
		w.want(w.stats("billing").DeadLettered, 1)
		w.wantCode(w.UnblockKey(w.ctx, subName("billing"), u), subscriptions.NotFound)
		wait(time.Hour)
		w.want(w.pullTexts("morgue"), "[0]") // its own lease ran out: it is still the one copy
	})
}

// Also while it is delivered: who has it may still ack it, and nobody gets it again.
func TestABlockedKeysHeadIsDroppedUnderItsLease(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", ordered)
		w.send("orders", "k", "0", "1")
		w.nack("billing", w.pull("billing")[:1])
		again, err := w.Pull(w.ctx, subName("billing"), 1, true)
		w.must(err)
		b := w.blocked("billing")[0]
		w.want(b.State, subscriptions.BlockTried)
		w.must(w.UnblockKey(w.ctx, subName("billing"), unblocking(b)))
		w.want(w.pullTexts("billing"), "[1]")
		w.ack("billing", again)
		wait(time.Minute)
		w.want(w.pullTexts("billing"), "[1]")
	})
}

func TestUnblockingTouchesNothingElse(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", ordered, retryEvery(time.Minute))
		w.subscribe("orders", "dying", ordered, deadLetterTo("orders"), retryEvery(time.Minute))
		w.send("orders", "k", "0", "1")
		w.send("orders", "free", "x")
		for _, sub := range []string{"billing", "dying"} {
			w.nack(sub, w.pull(sub)[:1])
		}
		good := unblocking(w.blocked("billing")[0])
		letter, other, free := good, good, good
		letter.DeadLetter = true
		other.MessageID = "5-10000"
		free.OrderingKey = "free"
		for what, c := range map[string]struct {
			u    subscriptions.Unblocking
			code subscriptions.Code
		}{
			"no dead-letter topic": {letter, subscriptions.FailedPrecondition},
			"another message":      {other, subscriptions.Aborted},
			"a key that flows":     {free, subscriptions.NotFound},
			"no key":               {subscriptions.Unblocking{MessageID: good.MessageID}, subscriptions.InvalidArgument},
			"no message":           {subscriptions.Unblocking{OrderingKey: "k"}, subscriptions.InvalidArgument},
		} {
			if err := w.UnblockKey(w.ctx, subName("billing"), c.u); subscriptions.CodeOf(err) != c.code {
				t.Errorf("%s: %v, want %s", what, err, c.code)
			}
		}
		w.want(w.stats("billing").Acked, 0)
		w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		w.wantCode(w.UnblockKey(w.ctx, subName("dying"), letter), subscriptions.FailedPrecondition)
		w.want(w.stats("dying").DeadLettered, 0)
		w.wantCode(w.UnblockKey(w.ctx, subName("missing"), good), subscriptions.NotFound)
		_, _, err := w.BlockedKeys(w.ctx, subName("missing"), subscriptions.Page{})
		w.wantCode(err, subscriptions.NotFound)
		_, _, err = w.BlockedKeys(w.ctx, subName("billing"), subscriptions.Page{Token: "x"})
		w.wantCode(err, subscriptions.InvalidArgument)
	})
}

func TestBlockedKeysPage(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", ordered, retryEvery(10*time.Minute))
		for i := range 25 {
			w.send("orders", fmt.Sprint("key-", i), fmt.Sprint(i))
		}
		w.nack("billing", w.pull("billing"))
		seen, token := map[string]bool{}, ""
		for pages := 1; ; pages++ {
			blocks, next, err := w.BlockedKeys(w.ctx, subName("billing"), subscriptions.Page{Size: 10, Token: token})
			w.must(err)
			for _, b := range blocks {
				seen[b.Head.Message.OrderingKey] = true
			}
			if token = next; token == "" {
				w.want(pages, 3)
				break
			}
		}
		w.want(len(seen), 25)
	})
}

// A server that dies while it dead-letters a head leaves the message in one of the two places, and the call can be made again.
func TestCrashWhileAHeadIsDeadLettered(t *testing.T) {
	var u subscriptions.Unblocking
	crashEverywhere(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		w.subscribe("orders", "billing", ordered, deadLetterTo("dead"), retryEvery(10*time.Minute))
		w.send("orders", "k", "0", "1")
		w.nack("billing", w.pull("billing")[:1])
		u = unblocking(w.blocked("billing")[0])
		u.DeadLetter = true
	},
		func(w *world, dying *subscriptions.Service) {
			_ = dying.UnblockKey(w.ctx, subName("billing"), u)
			err := w.UnblockKey(w.ctx, subName("billing"), u)
			if subscriptions.CodeOf(err) == subscriptions.Aborted {
				wait(time.Minute) // until nobody has hold of it any more
				err = w.UnblockKey(w.ctx, subName("billing"), u)
			}
			var e *subscriptions.Error
			if err != nil && (!errors.As(err, &e) || e.Code != subscriptions.NotFound) {
				w.Error(err)
			}
		},
		func(w *world, _ bool) {
			w.want(w.pullTexts("morgue"), "[0]")
			w.want(w.pullTexts("billing"), "[1]")
			w.want(w.stats("billing").DeadLettered, 1)
		})
}

func TestReasonsAreOneShortLine(t *testing.T) {
	long := ""
	for range 30 {
		long += "žluťoučký\n"
	}
	got := subscriptions.Reason(long + "\xff")
	if len(got) > subscriptions.MaxReason || len(got) < subscriptions.MaxReason-3 || !strings.HasPrefix(got, "žluťoučký žluťoučký ") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}

// Of an ack and two who take the head away, one comes first, and the others learn that they did not.
func TestOnlyOneTakesAHeadAway(t *testing.T) {
	for range 20 {
		inWorld(t, func(w *world) {
			w.topic("orders")
			w.topic("dead")
			w.subscribe("dead", "morgue")
			w.subscribe("orders", "billing", ordered, exactlyOnce, deadLetterTo("dead"))
			w.send("orders", "k", "0", "1")
			w.nack("billing", w.pull("billing"))
			held := w.pull("billing")
			u := unblocking(w.blocked("billing")[0])
			letter := u
			letter.DeadLetter = true
			results := make(chan error, 4)
			var all sync.WaitGroup
			for _, take := range []func() error{
				func() error { return w.Acknowledge(w.ctx, subName("billing"), ackIDs(held)) },
				func() error { return w.UnblockKey(w.ctx, subName("billing"), letter) },
				func() error { return w.server(w.store).UnblockKey(w.ctx, subName("billing"), letter) },
				func() error { return w.UnblockKey(w.ctx, subName("billing"), u) },
			} {
				all.Go(func() { results <- take() })
			}
			all.Wait()
			close(results)
			won := 0
			for err := range results {
				if err == nil {
					won++
				}
			}
			w.want(won, 1)
			st := w.stats("billing")
			w.want(st.Acked+st.DeadLettered, 1)
			w.want(len(w.pull("morgue")), st.DeadLettered)
		})
	}
}
