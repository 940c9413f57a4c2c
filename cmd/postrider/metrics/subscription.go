package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"postrider/subscriptions"
)

var subscriptionLabels = []string{"project_id", "subscription_id"}

// measure is a metric of a subscription or a topic, of its report R.
type measure[R any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(R) float64
	// join says how what has no series of its own is summed up; nil leaves it out.
	join func(a, b float64) float64
}

func plus(a, b float64) float64 { return a + b }
func most(a, b float64) float64 { return max(a, b) }

func gauge[R any](labels []string, name, help string, join func(a, b float64) float64, of func(R) float64) measure[R] {
	return measure[R]{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, of, join}
}

// counter is a total. A sum of totals falls when a part of it goes, which would read as a rate, so there is none of the rest.
func counter[R any](labels []string, name, help string, of func(R) int64) measure[R] {
	return measure[R]{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue, func(r R) float64 { return float64(of(r)) }, nil}
}

type subscriptionReport = *subscriptions.SubscriptionReport

func subscriptionGauge(name, help string, join func(a, b float64) float64, of func(subscriptionReport) float64) measure[subscriptionReport] {
	return gauge(subscriptionLabels, "postrider_subscription_"+name, help, join, of)
}

func subscriptionCounter(name, help string, of func(*subscriptions.Stats) int64) measure[subscriptionReport] {
	return counter(subscriptionLabels, "postrider_subscription_"+name, help, func(r subscriptionReport) int64 { return of(&r.Stats) })
}

// subscriptionMeasures are what is exported of each subscription. The help of each ends up in the documentation, too.
var subscriptionMeasures = []measure[subscriptionReport]{
	subscriptionGauge("num_undelivered_messages", "Messages that are not acknowledged: waiting, outstanding, parked or dead.", plus,
		func(r subscriptionReport) float64 { return float64(r.Stats.Backlog()) }),
	subscriptionGauge("backlog_bytes", "Size of the messages that are not acknowledged.", plus,
		func(r subscriptionReport) float64 { return float64(r.Stats.Bytes) }),
	subscriptionGauge("oldest_unacked_message_age_seconds", "Age of the oldest message that is not acknowledged; 0 without one.", most,
		func(r subscriptionReport) float64 { return r.Stats.OldestAge.Seconds() }),
	subscriptionGauge("num_outstanding_messages", "Messages that were delivered and are not settled: leased, waiting for a retry, parked or dead.", plus,
		func(r subscriptionReport) float64 { return float64(r.Stats.Outstanding) }),
	subscriptionGauge("num_parked_messages", "Messages that wait behind an earlier one of their ordering key.", plus,
		func(r subscriptionReport) float64 { return float64(r.Stats.Parked) }),
	subscriptionGauge("num_dead_messages", "Messages that have had all their attempts and wait to be moved to the dead-letter topic.", plus,
		func(r subscriptionReport) float64 { return float64(r.Stats.Dead) }),
	subscriptionGauge("message_retention_seconds", "How long a message is kept that is not acknowledged.", nil,
		func(r subscriptionReport) float64 {
			return max(r.Subscription.Retention, r.Subscription.TopicRetention).Seconds()
		}),
	subscriptionCounter("ack_messages_total", "Messages acknowledged.", func(s *subscriptions.Stats) int64 { return s.Acked }),
	subscriptionCounter("nack_messages_total", "Deliveries refused.", func(s *subscriptions.Stats) int64 { return s.Nacked }),
	subscriptionCounter("expired_ack_deadlines_total", "Deliveries whose ack deadline passed.", func(s *subscriptions.Stats) int64 { return s.Expired }),
	subscriptionCounter("dead_letter_messages_total", "Messages moved to the dead-letter topic.", func(s *subscriptions.Stats) int64 { return s.DeadLettered }),
	subscriptionCounter("dropped_messages_total", "Messages that outlived the retention before they were acknowledged.", func(s *subscriptions.Stats) int64 { return s.Dropped }),
	subscriptionCounter("late_messages_total", "Messages whose own time to live was over before they were acknowledged.", func(s *subscriptions.Stats) int64 { return s.Late }),
	subscriptionCounter("lost_messages_total", "Messages that had vanished from the store.", func(s *subscriptions.Stats) int64 { return s.Lost }),
	subscriptionCounter("filtered_messages_total", "Messages that the filter passed over.", func(s *subscriptions.Stats) int64 { return s.Filtered }),
}

// pushMeasures are what is exported of push subscriptions beside that.
var pushMeasures = []measure[subscriptionReport]{
	subscriptionGauge("push_breaker_open", "1 while the circuit breaker of the endpoint is open; of the others, how many are.", plus,
		func(r subscriptionReport) float64 {
			if r.Breaker.Open {
				return 1
			}
			return 0
		}),
	subscriptionGauge("push_breaker_open_seconds", "How long the circuit breaker has been open; 0 while it is closed.", most,
		func(r subscriptionReport) float64 {
			if !r.Breaker.Open {
				return 0
			}
			return max(r.Breaker.Since, time.Millisecond).Seconds()
		}),
}
