package subscriptions_test

import (
	"fmt"
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
