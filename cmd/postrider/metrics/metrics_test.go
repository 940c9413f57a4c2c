package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// everything is an overview that has each kind of thing, and events of each kind.
func everything(t *testing.T, series int) *Metrics {
	t.Helper()
	m := New(Options{Version: "1.2.3", Series: series})
	push := func(r *subscriptions.SubscriptionReport) {
		r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://user:secret@example.com/?key=secret"}
		r.Breaker = subscriptions.Breaker{Open: true, Since: time.Minute}
		r.Owner = "payments"
		r.Stats = subscriptions.Stats{
			Undelivered: 3, Outstanding: 4, Dead: 1, Parked: 2, Bytes: 500, OldestAge: 90 * time.Second,
			Acked: 10, Nacked: 11, Expired: 12, Dropped: 13, Lost: 14, DeadLettered: 15, Filtered: 16, Late: 18,
		}
	}
	o := subscriptions.Overview{
		Servers: []string{"a", "b"},
		Topics: []subscriptions.TopicReport{
			topicReportOf("orders", func(r *subscriptions.TopicReport) {
				r.Published, r.PublishedBytes, r.Log, r.Delayed = 100, 2000, 50, 17
			}),
			topicReportOf("orders-dead", func(r *subscriptions.TopicReport) {
				r.Owner, r.DeadLetters, r.Sources = "payments", 12, []subscriptions.SubscriptionName{{Project: "p", ID: "billing"}}
			}),
		},
		Subscriptions: []subscriptions.SubscriptionReport{
			subscriptionReportOf("archive"), subscriptionReportOf("billing", push),
		},
		Store: subscriptions.StoreReport{Kind: "redis", Nodes: []subscriptions.NodeReport{
			{Address: "127.0.0.1:6379", Used: 1 << 20, Max: 1 << 30, Persistent: true, Latency: time.Millisecond},
		}},
	}
	m.Watch(&fixed{overview: o})
	_, done := m.Publishing(t.Context(), subscriptions.TopicName{Project: "p", ID: "orders"}, nil)
	done(nil, nil)
	done(nil, subscriptions.Errorf(subscriptions.ResourceExhausted, "full"))
	sub := o.Subscriptions[1].Subscription
	d := subscriptions.Delivery{Message: subscriptions.Message{ID: subscriptions.NewMessageID(1, 1, 1)}, Number: 1}
	m.Leased(t.Context(), sub, time.Now().Add(-5*time.Second), []subscriptions.Delivery{d})
	m.Settled(t.Context(), sub, subscriptions.Acked, []subscriptions.Receipt{d.Receipt()})
	m.Settled(t.Context(), sub, subscriptions.Acked, []subscriptions.Receipt{d.Receipt()}) // again: it counts once
	m.Pushed(sub.Name, "REFUSED", 503, 70*time.Millisecond)
	m.Pushed(sub.Name, "UNREACHABLE", 0, time.Second)
	m.Pushed(sub.Name, "REFUSED", 99, time.Second) // no status that there is, but one that an endpoint can send
	return m
}

func TestExport(t *testing.T) {
	t.Parallel()
	text := scrape(t, everything(t, 0))
	has(t, text,
		`postrider_build_info{version="1.2.3"} 1`,
		`postrider_store_up 1`,
		`postrider_servers 2`, `postrider_topics 2`, `postrider_subscriptions 2`,
		`postrider_store_info{kind="redis"} 1`,
		`postrider_redis_memory_used_bytes{address="127.0.0.1:6379"} 1.048576e+06`,
		`postrider_redis_memory_max_bytes{address="127.0.0.1:6379"} 1.073741824e+09`,
		`postrider_redis_persistent{address="127.0.0.1:6379"} 1`,
		`postrider_redis_latency_seconds{address="127.0.0.1:6379"} 0.001`,
		`postrider_subscription_info{delivery="push",owner="payments",project_id="p",subscription_id="billing",topic_id="orders"} 1`,
		`postrider_subscription_num_undelivered_messages{project_id="p",subscription_id="billing"} 7`,
		`postrider_subscription_num_undelivered_messages{project_id="p",subscription_id="archive"} 0`,
		`postrider_subscription_backlog_bytes{project_id="p",subscription_id="billing"} 500`,
		`postrider_subscription_oldest_unacked_message_age_seconds{project_id="p",subscription_id="billing"} 90`,
		`postrider_subscription_num_outstanding_messages{project_id="p",subscription_id="billing"} 4`,
		`postrider_subscription_num_parked_messages{project_id="p",subscription_id="billing"} 2`,
		`postrider_subscription_num_dead_messages{project_id="p",subscription_id="billing"} 1`,
		`postrider_subscription_message_retention_seconds{project_id="p",subscription_id="billing"} 3600`,
		`postrider_subscription_ack_messages_total{project_id="p",subscription_id="billing"} 10`,
		`postrider_subscription_nack_messages_total{project_id="p",subscription_id="billing"} 11`,
		`postrider_subscription_expired_ack_deadlines_total{project_id="p",subscription_id="billing"} 12`,
		`postrider_subscription_dropped_messages_total{project_id="p",subscription_id="billing"} 13`,
		`postrider_subscription_lost_messages_total{project_id="p",subscription_id="billing"} 14`,
		`postrider_subscription_dead_letter_messages_total{project_id="p",subscription_id="billing"} 15`,
		`postrider_subscription_filtered_messages_total{project_id="p",subscription_id="billing"} 16`,
		`postrider_subscription_push_breaker_open{project_id="p",subscription_id="billing"} 1`,
		`postrider_subscription_push_breaker_open_seconds{project_id="p",subscription_id="billing"} 60`,
		`postrider_topic_published_messages_total{project_id="p",topic_id="orders"} 100`,
		`postrider_topic_published_bytes_total{project_id="p",topic_id="orders"} 2000`,
		`postrider_topic_log_messages{project_id="p",topic_id="orders"} 50`,
		`postrider_topic_num_delayed_messages{project_id="p",topic_id="orders"} 17`,
		`postrider_subscription_late_messages_total{project_id="p",subscription_id="billing"} 18`,
		`postrider_topic_dead_letters{owner="payments",project_id="p",topic_id="orders-dead"} 12`,
		`postrider_topic_publish_requests_total{code="OK",project_id="p",topic_id="orders"} 1`,
		`postrider_topic_publish_requests_total{code="RESOURCE_EXHAUSTED",project_id="p",topic_id="orders"} 1`,
		`postrider_subscription_ack_latencies_seconds_bucket{project_id="p",subscription_id="billing",le="10"} 1`,
		`postrider_subscription_ack_latencies_seconds_count{project_id="p",subscription_id="billing"} 1`,
		`postrider_subscription_ack_deadline_ratio_bucket{project_id="p",subscription_id="billing",le="0.75"} 1`,
		`postrider_subscription_ack_deadline_ratio_bucket{project_id="p",subscription_id="billing",le="0.25"} 0`,
		`postrider_subscription_push_requests_total{outcome="REFUSED",project_id="p",response_class="5xx",subscription_id="billing"} 1`,
		`postrider_subscription_push_requests_total{outcome="UNREACHABLE",project_id="p",response_class="none",subscription_id="billing"} 1`,
		`postrider_subscription_push_latencies_seconds_count{project_id="p",subscription_id="billing"} 1`,
	)
	hasNot(t, text, "secret", `push_breaker_open{project_id="p",subscription_id="archive"}`, `dead_letters{owner="",`)
	if !strings.Contains(text, "go_goroutines ") || !strings.Contains(text, "process_cpu_seconds_total ") {
		t.Error("the runtime's metrics are missing")
	}
}

// promtool knows Prometheus's own rules for names, helps and units.
func TestPromtoolCheck(t *testing.T) {
	t.Parallel()
	if out := promtool(t, scrape(t, everything(t, 1)), "check", "metrics"); out != "" {
		t.Errorf("promtool check metrics: %s", out)
	}
}

// What has no series of its own is summed up, of ages the largest counts, and totals have no sum.
func TestBounded(t *testing.T) {
	t.Parallel()
	m := New(Options{Series: 2})
	f := &fixed{}
	m.Watch(f)
	for i := range 5 {
		f.overview.Subscriptions = append(f.overview.Subscriptions, subscriptionReportOf(fmt.Sprint("sub-", i), func(r *subscriptions.SubscriptionReport) {
			r.Stats = subscriptions.Stats{Undelivered: 10, OldestAge: time.Duration(i) * time.Second, Acked: 5}
		}))
		f.overview.Topics = append(f.overview.Topics, topicReportOf(fmt.Sprint("topic-", i), func(r *subscriptions.TopicReport) {
			r.DeadLetters, r.Sources, r.Log = 1, make([]subscriptions.SubscriptionName, 1), 7
		}))
		sub := f.overview.Subscriptions[i].Subscription
		m.Pushed(sub.Name, "ACKED", 204, time.Second)
	}
	const rest = `{project_id="",subscription_id="_other"} `
	text := scrape(t, m)
	has(t, text,
		`postrider_subscription_num_undelivered_messages{project_id="p",subscription_id="sub-1"} 10`,
		`postrider_subscription_num_undelivered_messages`+rest+"30",
		`postrider_subscription_oldest_unacked_message_age_seconds`+rest+"4",
		`postrider_topic_log_messages{project_id="",topic_id="_other"} 21`,
		`postrider_topic_dead_letters{owner="",project_id="",topic_id="_other"} 3`,
		`postrider_subscription_push_requests_total{outcome="ACKED",project_id="",response_class="2xx",subscription_id="_other"} 3`,
	)
	hasNot(t, text, `"sub-3"`, `"topic-3"`, "ack_messages_total"+rest)
	// One that is deleted makes room for another, and takes its series along.
	f.overview.Subscriptions = f.overview.Subscriptions[1:]
	scrape(t, m) // which finds that out, perhaps after counters were read
	text = scrape(t, m)
	has(t, text, `postrider_subscription_num_undelivered_messages{project_id="p",subscription_id="sub-2"} 10`,
		`postrider_subscription_num_undelivered_messages`+rest+"20")
	hasNot(t, text, `"sub-0"`)
	// One of that name that comes back later starts from nothing.
	back := subscriptionReportOf("sub-0", func(*subscriptions.SubscriptionReport) {})
	f.overview.Subscriptions = []subscriptions.SubscriptionReport{back}
	scrape(t, m)
	m.Pushed(back.Subscription.Name, "ACKED", 204, time.Second)
	has(t, scrape(t, m), `postrider_subscription_push_requests_total{outcome="ACKED",project_id="p",response_class="2xx",subscription_id="sub-0"} 1`)
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	m.Watch(&fixed{err: errAway})
	text := scrape(t, m)
	has(t, text, "postrider_store_up 0")
	hasNot(t, text, "postrider_subscriptions")
}

func TestSampledLeases(t *testing.T) {
	t.Parallel()
	l := newLeases(100)
	start := time.Now()
	var rs []subscriptions.Receipt
	for i := range 1000 {
		d := subscriptions.Delivery{Message: subscriptions.Message{ID: subscriptions.NewMessageID(1, int64(i), 7)}, Number: 1}
		l.add("s", start, []subscriptions.Delivery{d})
		rs = append(rs, d.Receipt())
	}
	if n := len(l.at); n > 100 || n < 30 {
		t.Errorf("%d are remembered", n)
	}
	if n := len(l.end("other", rs)); n > 0 {
		t.Errorf("%d are another subscription's", n)
	}
	early := len(l.end("s", rs[:500]))
	all := len(l.end("s", rs))
	if early < all/2 || early > 2*all+4 || len(l.at) != 0 {
		t.Errorf("of the first half %d were remembered, of the second %d", early, all)
	}
	for range 4 { // when it is quiet again each message counts
		start = start.Add(longestLease + time.Second)
		l.add("s", start, []subscriptions.Delivery{{Message: subscriptions.Message{ID: subscriptions.NewMessageID(1, 1, 7)}}})
	}
	if l.every != 1 {
		t.Errorf("one of %d is remembered", l.every)
	}
}
