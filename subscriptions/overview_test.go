package subscriptions_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"postrider/subscriptions"
)

// overview is what a server says of everything.
func (w *world) overview(s *subscriptions.Service) subscriptions.Overview {
	w.Helper()
	o, err := s.Overview(w.ctx)
	w.must(err)
	return o
}

// named finds a subscription in an overview.
func (w *world) named(o subscriptions.Overview, id string) subscriptions.SubscriptionReport {
	w.Helper()
	for _, r := range o.Subscriptions {
		if r.Subscription.Name == subName(id) {
			return r
		}
	}
	w.Fatalf("%s is not in the overview", id)
	panic("unreachable")
}

func TestOverview(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		other := w.server(w.store)
		_, err := w.CreateTopic(w.ctx, subscriptions.Topic{Name: topicName("orders"), Labels: map[string]string{"owner": "payments"}})
		w.must(err)
		w.topic("orders-dead")
		w.subscribe("orders", "billing", deadLetterTo("orders-dead"))
		w.subscribe("orders", "archive")
		w.publish("orders", "a", "b", "c")
		w.ack("archive", w.pull("archive"))
		wait(time.Minute)
		for _, s := range []*subscriptions.Service{w.Service, other} {
			o := w.overview(s)
			w.want(len(o.Servers), 2)
			var topics, subs []string
			for _, r := range o.Topics {
				topics = append(topics, fmt.Sprint(r.Topic.Name.ID, " ", r.Owner, r.Subscriptions, r.Sources))
			}
			for _, r := range o.Subscriptions {
				subs = append(subs, fmt.Sprint(r.Subscription.Name.ID, " ", r.Owner, " ", r.Stats.Backlog(), " ", r.Drains))
			}
			w.want(topics, "[orders payments[projects/p/subscriptions/archive projects/p/subscriptions/billing] [] orders-dead [] [projects/p/subscriptions/billing]]")
			w.want(subs, "[archive payments 0 0s billing payments 3 -1ns]")
			w.want(w.named(o, "billing").Server != "", true)
		}
		w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		w.must(w.DeleteSubscription(w.ctx, subName("archive")))
		wait(time.Minute)
		o := w.overview(other)
		w.want(len(o.Topics), 1)
		w.want(len(o.Subscriptions), 1)
		w.want(w.named(o, "billing").Subscription.TopicDeleted, true)
	})
}

// found waits until what happened is surveyed, and every server has heard of it.
func (w *world) found() { wait(15 * time.Second) }

func many(n int) []string { return slices.Repeat([]string{"x"}, n) }

func TestRatesAndDrain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		other := w.server(w.store)
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", many(600)...)
		for range 4 * 60 { // 10 come and 12 go, each second
			w.publish("orders", many(10)...)
			got, err := w.Pull(w.ctx, subName("billing"), 12, true)
			w.must(err)
			w.ack("billing", got)
			wait(time.Second)
		}
		r := w.named(w.overview(other), "billing")
		if r.In < 9 || r.In > 11 || r.Out < 11 || r.Out > 13 {
			w.Errorf("%v in, %v out a second", r.In, r.Out)
		}
		if r.Stats.Backlog() < 120 || r.Stats.Backlog() > 180 {
			w.Errorf("the backlog is %d", r.Stats.Backlog())
		}
		if r.Drains < 45*time.Second || r.Drains > 2*time.Minute {
			w.Errorf("drains in %v", r.Drains)
		}
		w.want(len(r.Recent) >= 4, true)
		w.want(r.Recent[len(r.Recent)-1], r.Stats.Backlog())
		if o := w.overview(other); o.Topics[0].In < 9 || o.Topics[0].In > 11 || o.Topics[0].Published < 2900 {
			w.Errorf("the topic is %+v", o.Topics[0])
		}
	})
}

// What nobody touches is older by the time that passes, and nothing else about it changes.
func TestUntouched(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a", "b")
		w.found()
		before := w.named(w.overview(w.Service), "billing")
		wait(2 * time.Hour)
		after := w.named(w.overview(w.Service), "billing")
		w.want(after.Stats.Backlog(), 2)
		if passed := after.Stats.OldestAge - before.Stats.OldestAge; passed < 2*time.Hour-time.Second || passed > 2*time.Hour+2*time.Second {
			w.Errorf("it aged by %v", passed)
		}
		w.want(len(after.Recent), subscriptions.RecentPoints)
		w.want(after.Recent[0], 2)
		w.want(after.In, 0)
	})
}

// A server that starts knows what happened before, and both say the same.
func TestHistory(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		for range 30 {
			w.publish("orders", "a", "b", "c")
			w.ack("billing", w.pull("billing")[:1])
			wait(time.Minute)
		}
		wait(10 * time.Minute) // nothing happens
		before, err := w.History(w.ctx, subName("billing"))
		w.must(err)
		w.stop()
		w.start()
		w.found()
		other := w.server(w.store)
		w.found()
		for _, s := range []*subscriptions.Service{w.Service, other} {
			after, err := s.History(w.ctx, subName("billing"))
			w.must(err)
			w.want(len(after) >= len(before), true)
			w.want(after[:len(before)-1], before[:len(before)-1])
			last := after[len(after)-1]
			w.want(last.Undelivered+last.Outstanding, 60)
		}
		one, two := w.named(w.overview(other), "billing"), w.named(w.overview(w.Service), "billing")
		w.want(one.Stats.OldestAge.Round(time.Second), two.Stats.OldestAge.Round(time.Second))
		one.Stats.OldestAge = two.Stats.OldestAge
		w.want(one, two)
		acked := int64(0)
		for i, p := range before {
			acked += p.Acked
			if i > 0 && p.At.Sub(before[i-1].At) > 2*time.Minute {
				w.Errorf("nothing between %v and %v", before[i-1].At, p.At)
			}
		}
		w.want(acked >= 28, true)
		_, err = w.History(w.ctx, subName("none"))
		w.wantCode(err, subscriptions.NotFound)
		w.must(w.DetachSubscription(w.ctx, subName("billing")))
		_, err = w.History(w.ctx, subName("billing"))
		w.wantCode(err, subscriptions.FailedPrecondition)
	})
}
