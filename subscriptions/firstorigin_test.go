package subscriptions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// exhaust refuses what a subscription has until it is a dead letter.
func (w *world) exhaust(subs ...string) {
	w.Helper()
	for _, sub := range subs {
		for got := w.pull(sub); len(got) > 0; got = w.pull(sub) {
			w.nack(sub, got)
		}
		wait(time.Minute)
	}
}

// withDeadTwice makes dead letters of billing die again at morgue, and at crypt.
func (w *world) withDeadTwice() {
	w.topic("dead2")
	w.topic("dead3")
	w.topic("orders")
	w.topic("dead")
	w.subscribe("orders", "billing", deadLetterTo("dead"))
	w.subscribe("dead", "morgue", deadLetterTo("dead2"))
	w.subscribe("dead2", "crypt", deadLetterTo("dead3"))
	w.subscribe("dead3", "vault")
}

// A dead letter that dies again goes back step by step, and is each time what it was there; nothing of it is left over at the end.
func TestRedriveWhatDiedTwice(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDeadTwice()
		ids, err := w.Publish(w.ctx, topicName("orders"), []subscriptions.Message{{Data: []byte("a"), Attributes: map[string]string{"k": "v"}}})
		w.must(err)
		for times := range 2 {
			w.exhaust("billing")
			before := w.letters(10, fromSub("billing"))[0]
			w.exhaust("morgue")
			w.want(letterTexts(w.letters(10, ofTopic("dead"))), "[]")
			again := w.letters(10, fromSub("morgue"))[0]
			w.want(again.Message.Attributes["CloudPubSubDeadLetterSourceSubscription"], "morgue")
			first, ok := again.Origin.First()
			w.want(fmt.Sprint(ok, first.Subscription, first.MessageID, first.Attempts, first.Reason, first.Topic),
				fmt.Sprint(true, subName("billing"), ids[0], 5, before.Origin.Reason, topicName("orders")))

			w.want(w.redrive(ofTopic("dead2")).Progress.Moved, 1)
			back := w.letters(10, fromSub("billing"))[0]
			w.want(fmt.Sprint(back.Message.ID, back.Message.PublishTime()), fmt.Sprint(before.Message.ID, before.Message.PublishTime()))
			_, ok = back.Origin.First()
			w.want(ok, false)
			for name, value := range before.Message.Attributes {
				if !strings.HasPrefix(name, subscriptions.RedrivenAttribute) {
					w.want(name+back.Message.Attributes[name], name+value)
				}
			}

			w.want(w.redrive(fromSub("billing")).Progress.Moved, 1)
			got := w.pull("billing")
			w.want(fmt.Sprint(got[0].Message.ID, got[0].Attempt, len(got)), fmt.Sprint(ids[0], 1, 1))
			w.want(got[0].Message.Attributes, map[string]string{
				"k": "v", "postrider-redriven": fmt.Sprint(2 * (times + 1)), "postrider-redriven-attempts": fmt.Sprint(10 * (times + 1)),
				"postrider-redriven-reason": subscriptions.ReasonRefused,
			})
			w.nack("billing", got)
		}
	})
}

// However often a dead letter died, it can go to the subscription that it died at first, and die again afterwards.
func TestRedriveToTheFirstOrigin(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDeadTwice()
		w.publish("orders", "a")
		for times := range 2 {
			w.exhaust("billing", "morgue", "crypt")
			w.want(w.pullTexts("billing")+w.pullTexts("morgue")+w.pullTexts("crypt"), "[][][]")
			d := w.letters(10, ofTopic("dead3"))[0]
			first, _ := d.Origin.First()
			w.want(fmt.Sprint(d.Origin.Subscription, first.Subscription), fmt.Sprint(subName("crypt"), subName("billing")))
			op := w.operated(w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: ofTopic("dead3"), ToFirst: true}))
			w.want(fmt.Sprint(op.ToFirst, op.Progress.Moved), "true 1")
			got := w.pull("billing")
			w.want(fmt.Sprint(texts(got), got[0].Message.ID, got[0].Attempt), fmt.Sprint("[a]", first.MessageID, 1))
			w.want(got[0].Message.Attributes, map[string]string{
				"postrider-redriven": fmt.Sprint(times + 1), "postrider-redriven-attempts": fmt.Sprint(10 * (times + 1)),
				"postrider-redriven-reason": subscriptions.ReasonRefused,
			})
			w.nack("billing", got)
			w.want(letterTexts(w.letters(10, ofTopic("dead3"))), "[]")
		}
		w.die("orders", "billing", "died once")
		w.operated(w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing"), ToFirst: true}))
		w.want(w.pullTexts("billing"), "[a died once]")
	})
}

// A letter of a subscription that is its own dead letters' subscriber keeps its size, however often it dies.
func TestDeadLettersInACircle(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead()
		w.subscribe("dead", "morgue", deadLetterTo("dead"))
		w.die("orders", "billing", "a")
		sizes := map[int]bool{}
		for range 5 {
			w.exhaust("morgue")
			d := w.letters(10, ofTopic("dead"))[0]
			first, _ := d.Origin.First()
			w.want(first.Subscription, subName("billing"))
			sizes[len(d.Message.Attributes)] = true
		}
		w.want(len(sizes), 1)
	})
}
