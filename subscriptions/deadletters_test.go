package subscriptions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// die publishes texts and refuses them until they are dead letters.
func (w *world) die(topic, sub string, texts ...string) {
	w.Helper()
	w.publish(topic, texts...)
	for range 5 {
		w.nack(sub, w.pull(sub))
	}
	wait(time.Minute)
	st := w.stats(sub)
	w.want(st.Undelivered+st.Outstanding, 0)
}

// letters are the texts of the dead letters that are selected, read in pages of
// so many.
func (w *world) letters(size int, q subscriptions.DeadLetterQuery) (all []subscriptions.DeadLetter) {
	w.Helper()
	for p := (subscriptions.Page{Size: size}); ; {
		page, next, err := w.DeadLetters(w.ctx, q, p)
		w.must(err)
		all = append(all, page...)
		if p.Token = next; next == "" {
			return all
		}
	}
}

func letterTexts(all []subscriptions.DeadLetter) string {
	var out []string
	for _, d := range all {
		out = append(out, string(d.Message.Data))
	}
	return fmt.Sprint(out)
}

func fromSub(id string) subscriptions.DeadLetterQuery {
	return subscriptions.DeadLetterQuery{Subscription: subName(id)}
}

func ofTopic(id string) subscriptions.DeadLetterQuery {
	return subscriptions.DeadLetterQuery{Topic: topicName(id)}
}

// withDead makes a topic orders with a subscription billing, whose dead letters
// go to the topic dead.
func (w *world) withDead(holders ...string) {
	w.topic("orders")
	w.topic("dead")
	for _, h := range holders {
		w.subscribe("dead", h)
	}
	w.subscribe("orders", "billing", deadLetterTo("dead"))
}

func TestDeadLettersTellTheirOrigin(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		ids, err := w.Publish(w.ctx, topicName("orders"), []subscriptions.Message{{Data: []byte("a"), Attributes: map[string]string{"k": "v"}}})
		w.must(err)
		_, err = w.UpdateTopic(w.ctx, subscriptions.Topic{Name: topicName("dead"), Labels: map[string]string{"owner": "payments"}}, []string{"labels"})
		w.must(err)
		wait(time.Hour)
		for range 5 {
			w.nack("billing", w.pull("billing"))
		}
		wait(time.Minute)
		d := w.letters(10, fromSub("billing"))[0]
		w.want(d.Owner, "payments")
		w.want(d.Topic, topicName("dead"))
		w.want(d.Holder, subName("morgue"))
		w.want(d.State, subscriptions.PeekNew)
		o := d.Origin
		w.want(o.Subscription, subName("billing"))
		w.want(o.Topic, topicName("orders"))
		w.want(o.MessageID, ids[0])
		w.want(o.PublishTime.UTC(), ids[0].Time())
		w.want(o.Attempts, 5)
		w.want(d.Message.PublishTime().Sub(o.PublishTime).Truncate(time.Hour), time.Hour)
	})
}

func TestDeadLettersOfManyHolders(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue", "crypt")
		w.subscribe("orders", "shipping", deadLetterTo("dead"))
		w.die("orders", "billing", "a", "b", "c")
		w.publish("dead", "no dead letter")
		w.ack("crypt", w.pull("crypt")[:1])
		for size := 1; size <= 6; size++ {
			w.want(letterTexts(w.letters(size, fromSub("billing"))), "[b c a b c]")
			w.want(letterTexts(w.letters(size, ofTopic("dead"))), "[b c a b c]")
		}
		w.want(letterTexts(w.letters(10, fromSub("shipping"))), "[]")
		q := ofTopic("dead")
		q.Holder = subName("crypt")
		w.want(letterTexts(w.letters(10, q)), "[b c]")
		w.want(w.letters(10, q)[0].State, subscriptions.PeekLeased)
		q.Holder = subName("billing")
		_, _, err := w.DeadLetters(w.ctx, q, subscriptions.Page{})
		w.wantCode(err, subscriptions.NotFound)
	})
}

func TestDeadLettersOfATopicWithoutSubscriptions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead()
		w.die("orders", "billing", "a", "b")
		for size := 1; size <= 3; size++ {
			w.want(letterTexts(w.letters(size, fromSub("billing"))), "[a b]")
		}
		w.want(w.letters(1, ofTopic("dead"))[0].Holder, subscriptions.SubscriptionName{})
		wait(8 * 24 * time.Hour)
		w.want(letterTexts(w.letters(10, ofTopic("dead"))), "[]")
	})
}

func TestDeadLettersAreSearched(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "Apple")
		first := time.Now()
		w.die("orders", "billing", "pear", "pineapple")
		w.subscribe("orders", "shipping", deadLetterTo("dead"))
		w.die("orders", "shipping", "apple")
		all := w.letters(10, ofTopic("dead"))
		w.want(letterTexts(all), "[Apple pear pineapple apple]")
		for want, f := range map[string]subscriptions.DeadLetterFilter{
			"[Apple pineapple apple]": {Text: "aPPle"},
			"[apple]":                 {Text: "apple", From: subName("shipping")},
			"[pineapple apple]":       {Text: "apple", Since: first},
			"[Apple]":                 {Text: "apple", Before: first},
			"[pear apple]":            {IDs: []subscriptions.MessageID{all[3].Message.ID, all[1].Message.ID}},
			"[pear pineapple]":        {Since: first, Before: all[3].Message.PublishTime()},
			"[]":                      {Text: "cherry"},
		} {
			for size := 1; size <= 3; size++ {
				w.want(letterTexts(w.letters(size, subscriptions.DeadLetterQuery{Topic: topicName("dead"), DeadLetterFilter: f})), want)
			}
		}
	})
}

func TestDeadLettersThatCannotBeListed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead()
		w.subscribe("orders", "plain")
		for code, q := range map[subscriptions.Code][]subscriptions.DeadLetterQuery{
			subscriptions.NotFound:           {fromSub("none"), ofTopic("none")},
			subscriptions.FailedPrecondition: {fromSub("plain")},
			subscriptions.InvalidArgument: {
				{}, {Subscription: subName("billing"), Topic: topicName("dead")}, fromSub("x"),
				{Topic: topicName("dead"), DeadLetterFilter: subscriptions.DeadLetterFilter{Text: strings.Repeat("x", 1025)}},
				{Topic: topicName("dead"), DeadLetterFilter: subscriptions.DeadLetterFilter{IDs: make([]subscriptions.MessageID, 1001)}},
				{Topic: topicName("dead"), DeadLetterFilter: subscriptions.DeadLetterFilter{Since: time.Now(), Before: time.Now()}},
			},
		} {
			for _, q := range q {
				_, _, err := w.DeadLetters(w.ctx, q, subscriptions.Page{})
				w.wantCode(err, code)
			}
		}
		for _, p := range []subscriptions.Page{{Size: -1}, {Token: "nonsense"}} {
			_, _, err := w.DeadLetters(w.ctx, ofTopic("dead"), p)
			w.wantCode(err, subscriptions.InvalidArgument)
			_, _, err = w.Peek(w.ctx, subName("billing"), p)
			w.wantCode(err, subscriptions.InvalidArgument)
		}
		w.must(w.DeleteTopic(w.ctx, topicName("dead")))
		_, _, err := w.DeadLetters(w.ctx, fromSub("billing"), subscriptions.Page{})
		w.wantCode(err, subscriptions.FailedPrecondition)
		_, _, err = w.Peek(w.ctx, subName("none"), subscriptions.Page{})
		w.wantCode(err, subscriptions.NotFound)
	})
}

func TestPeek(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a", "b", "c")
		w.nack("billing", w.pull("billing")[1:2])
		var got []string
		for p := (subscriptions.Page{Size: 2}); ; {
			page, next, err := w.Peek(w.ctx, subName("billing"), p)
			w.must(err)
			for _, m := range page {
				got = append(got, fmt.Sprintf("%s %d %d", m.Message.Data, m.State, m.Attempt))
			}
			if p.Token = next; next == "" {
				break
			}
		}
		w.want(got, "[a 2 1 b 3 1 c 2 1]")
		w.must(w.DetachSubscription(w.ctx, subName("billing")))
		page, next, err := w.Peek(w.ctx, subName("billing"), subscriptions.Page{})
		w.must(err)
		w.want(fmt.Sprint(len(page), next), "0")
	})
}
