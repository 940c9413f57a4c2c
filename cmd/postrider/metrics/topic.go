package metrics

import "postrider/subscriptions"

var topicLabels = []string{"project_id", "topic_id"}

type topicReport = *subscriptions.TopicReport

// topicMeasures are what is exported of each topic.
var topicMeasures = []measure[topicReport]{
	counter(topicLabels, "postrider_topic_published_messages_total", "Messages published, dead letters included.",
		func(r topicReport) int64 { return r.Published }),
	counter(topicLabels, "postrider_topic_published_bytes_total", "Size of the messages published.",
		func(r topicReport) int64 { return r.PublishedBytes }),
	gauge(topicLabels, "postrider_topic_log_messages", "Messages stored, acknowledged ones that are not cut off yet included.", plus,
		func(r topicReport) float64 { return float64(r.Log) }),
	gauge(topicLabels, "postrider_topic_num_delayed_messages", "Messages that are not due yet, and so in no backlog.", plus,
		func(r topicReport) float64 { return float64(r.Delayed) }),
}

// deadLetterMeasure is exported of dead-letter topics alone.
var deadLetterMeasure = gauge(append(topicLabels[:2:2], "owner"), "postrider_topic_dead_letters",
	"Dead letters that a dead-letter topic holds; owner is the topic's label of that name.", plus,
	func(r topicReport) float64 { return float64(r.DeadLetters) })
