package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"postrider/subscriptions"
)

// Events count what this server does. They are a subscriptions.Observer.
type Events struct {
	series *series
	leases *leases

	publishes   *prometheus.CounterVec
	publishTime prometheus.Histogram
	ackTime     *prometheus.HistogramVec
	ackShare    *prometheus.HistogramVec
	pushes      *prometheus.CounterVec
	pushTime    *prometheus.HistogramVec
	meters      meters
}

var _ subscriptions.Observer = (*Events)(nil)

// seconds are buckets from a quick answer to the longest ack deadline.
var seconds = []float64{0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60, 600}

func (e *Events) init(registry *prometheus.Registry, most int) {
	e.series, e.leases = newSeries(most), newLeases(sampledLeases)
	e.publishes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postrider_topic_publish_requests_total",
		Help: "Publishes that this server stored, or could not store, by the code of the answer.",
	}, append(topicLabels[:2:2], "code"))
	e.publishTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "postrider_publish_latencies_seconds", Help: "How long the store took to take a publish.", Buckets: seconds[:7],
	})
	e.ackTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "postrider_subscription_ack_latencies_seconds",
		Help: "Time from a lease by this server to the ack by it; a sample when there are many.", Buckets: seconds,
	}, subscriptionLabels)
	e.ackShare = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "postrider_subscription_ack_deadline_ratio",
		Help:    "The same as a share of the ack deadline: near 1 deliveries come too late to be acked, beyond it they were extended.",
		Buckets: []float64{0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 2},
	}, subscriptionLabels)
	e.pushes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postrider_subscription_push_requests_total",
		Help: "Pushes by this server, by outcome and class of the status; RELEASED were no attempts.",
	}, append(subscriptionLabels[:2:2], "outcome", "response_class"))
	e.pushTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "postrider_subscription_push_latencies_seconds", Help: "Time until endpoints answered pushes of this server.", Buckets: seconds,
	}, subscriptionLabels)
	registry.MustRegister(e.publishes, e.publishTime, e.ackTime, e.ackShare, e.pushes, e.pushTime)
}

// Publishing implements subscriptions.Observer.
func (e *Events) Publishing(_ context.Context, topic subscriptions.TopicName, msgs []subscriptions.Message) ([]subscriptions.Message, func([]subscriptions.MessageID, error)) {
	start := time.Now()
	return msgs, func(_ []subscriptions.MessageID, err error) {
		e.publishTime.Observe(time.Since(start).Seconds())
		n := e.series.topic(name{topic.Project, topic.ID})
		code := "OK"
		if err != nil {
			code = string(subscriptions.CodeOf(err))
		}
		e.publishes.WithLabelValues(n.project, n.id, code).Inc()
	}
}

// Leased implements subscriptions.Observer.
func (e *Events) Leased(_ context.Context, sub subscriptions.Subscription, at time.Time, ds []subscriptions.Delivery) {
	e.leases.add(sub.UID, at, ds)
}

// Settled implements subscriptions.Observer.
func (e *Events) Settled(_ context.Context, sub subscriptions.Subscription, how subscriptions.Settled, rs []subscriptions.Receipt) {
	began := e.leases.end(sub.UID, rs)
	if how != subscriptions.Acked || len(began) == 0 {
		return
	}
	n := e.series.subscription(name{sub.Name.Project, sub.Name.ID})
	times, shares := e.ackTime.WithLabelValues(n.project, n.id), e.ackShare.WithLabelValues(n.project, n.id)
	now, deadline := time.Now(), sub.AckDeadline.Seconds()
	for _, at := range began {
		took := now.Sub(at).Seconds()
		times.Observe(took)
		shares.Observe(took / deadline)
	}
}

// Pushed counts a push, by what came of it (pusher.Pushed).
func (e *Events) Pushed(sub subscriptions.SubscriptionName, outcome string, status int, took time.Duration) {
	n := e.series.subscription(name{sub.Project, sub.ID})
	m := e.meters.of(pushKind{n, outcome, status / 100}, e.pushMeter)
	m.pushes.Inc()
	if m.took != nil {
		m.took.Observe(took.Seconds())
	}
}

// pushMeter finds the series of one kind of push.
func (e *Events) pushMeter(k pushKind) pushMeter {
	class := "none"
	if k.class > 0 {
		class = strconv.Itoa(k.class) + "xx"
	}
	m := pushMeter{pushes: e.pushes.WithLabelValues(k.project, k.id, k.outcome, class)}
	if k.class > 0 {
		m.took = e.pushTime.WithLabelValues(k.project, k.id)
	}
	return m
}

// forget removes the series of what was deleted.
func (e *Events) forget(topics, subs []name) {
	for _, n := range topics {
		e.publishes.DeletePartialMatch(prometheus.Labels{"project_id": n.project, "topic_id": n.id})
	}
	for _, n := range subs {
		of := prometheus.Labels{"project_id": n.project, "subscription_id": n.id}
		e.ackTime.DeletePartialMatch(of)
		e.ackShare.DeletePartialMatch(of)
		e.pushes.DeletePartialMatch(of)
		e.pushTime.DeletePartialMatch(of)
		e.meters.forget(n)
	}
}
