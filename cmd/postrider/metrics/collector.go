package metrics

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"postrider/subscriptions"
)

// collector exports an overview.
type collector struct {
	backend Backend
	events  *Events
	series  *series
	log     *slog.Logger
	up      *prometheus.Desc
}

func newCollector(b Backend, e *Events, log *slog.Logger) *collector {
	return &collector{
		backend: b, events: e, series: e.series, log: log,
		up: prometheus.NewDesc("postrider_store_up", "1 when the store could be asked for this scrape.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.up
	describe(descs, subscriptionMeasures)
	describe(descs, pushMeasures)
	describe(descs, topicMeasures)
	describe(descs, []measure[topicReport]{deadLetterMeasure})
	describeAll(descs)
}

func describe[R any](descs chan<- *prometheus.Desc, all []measure[R]) {
	for _, m := range all {
		descs <- m.desc
	}
}

// Collect implements prometheus.Collector. Without the store there is nothing to say but that.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	o, err := c.backend.Overview(ctx)
	if err != nil {
		c.log.Warn("a scrape could not ask the store", "error", err)
		out <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, 0)
		return
	}
	out <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, 1)
	c.events.forget(c.series.keep(present(o)))
	c.collectSubscriptions(out, o)
	c.collectTopics(out, o)
	collectAll(out, o)
}

func present(o subscriptions.Overview) (topics, subs map[name]bool) {
	topics, subs = map[name]bool{}, map[name]bool{}
	for i := range o.Topics {
		topics[nameOfTopic(&o.Topics[i])] = true
	}
	for i := range o.Subscriptions {
		subs[nameOfSubscription(&o.Subscriptions[i])] = true
	}
	return topics, subs
}

func nameOfTopic(r topicReport) name { return name{r.Topic.Name.Project, r.Topic.Name.ID} }

func nameOfSubscription(r subscriptionReport) name {
	return name{r.Subscription.Name.Project, r.Subscription.Name.ID}
}

func (c *collector) collectSubscriptions(out chan<- prometheus.Metric, o subscriptions.Overview) {
	all, pushed := newRest(subscriptionMeasures), newRest(pushMeasures)
	for i := range o.Subscriptions {
		r := &o.Subscriptions[i]
		n := c.series.subscription(nameOfSubscription(r))
		all.collect(out, n, r)
		if r.Subscription.IsPush() {
			pushed.collect(out, n, r)
		}
		if n != other {
			out <- prometheus.MustNewConstMetric(subscriptionInfo, prometheus.GaugeValue, 1,
				n.project, n.id, r.Subscription.Topic.ID, r.Owner, delivery(r))
		}
	}
	all.end(out)
	pushed.end(out)
}

func delivery(r subscriptionReport) string {
	if r.Subscription.IsPush() {
		return "push"
	}
	return "pull"
}

func (c *collector) collectTopics(out chan<- prometheus.Metric, o subscriptions.Overview) {
	all, dead := newRest(topicMeasures), newRest([]measure[topicReport]{deadLetterMeasure})
	for i := range o.Topics {
		r := &o.Topics[i]
		n := c.series.topic(nameOfTopic(r))
		all.collect(out, n, r)
		if len(r.Sources) > 0 {
			dead.collect(out, n, r, r.Owner)
		}
	}
	all.end(out)
	dead.end(out, "")
}

// rest collects measures, and joins those of what has no series of its own.
type rest[R any] struct {
	measures []measure[R]
	joined   []float64
	any      bool
}

func newRest[R any](measures []measure[R]) *rest[R] {
	return &rest[R]{measures: measures, joined: make([]float64, len(measures))}
}

func (s *rest[R]) collect(out chan<- prometheus.Metric, n name, r R, labels ...string) {
	for i, m := range s.measures {
		switch v := m.of(r); {
		case n != other:
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, v, append([]string{n.project, n.id}, labels...)...)
		case m.join != nil:
			s.joined[i], s.any = m.join(s.joined[i], v), true
		}
	}
}

func (s *rest[R]) end(out chan<- prometheus.Metric, labels ...string) {
	for i, m := range s.measures {
		if s.any && m.join != nil {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, s.joined[i], append([]string{other.project, other.id}, labels...)...)
		}
	}
}
