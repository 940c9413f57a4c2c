package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"postrider/subscriptions"
)

// What there is once, or once a server of the store.
var (
	subscriptionInfo = prometheus.NewDesc("postrider_subscription_info",
		"Always 1; the labels tell the topic, the owner (the label of that name of the subscription or its topic) and push or pull.",
		append(subscriptionLabels[:2:2], "topic_id", "owner", "delivery"), nil)
	serverCount       = prometheus.NewDesc("postrider_servers", "Servers that share the store and live.", nil, nil)
	topicCount        = prometheus.NewDesc("postrider_topics", "Topics.", nil, nil)
	subscriptionCount = prometheus.NewDesc("postrider_subscriptions", "Subscriptions.", nil, nil)
	storeInfo         = prometheus.NewDesc("postrider_store_info", "Always 1; kind is memory or redis.", []string{"kind"}, nil)
	memoryUsed        = prometheus.NewDesc("postrider_redis_memory_used_bytes", "Memory that Redis uses.", []string{"address"}, nil)
	memoryMax         = prometheus.NewDesc("postrider_redis_memory_max_bytes", "Redis's maxmemory; 0 is no bound.", []string{"address"}, nil)
	persistent        = prometheus.NewDesc("postrider_redis_persistent",
		"1 while Redis writes an append-only file, so that a restart loses nothing.", []string{"address"}, nil)
	latency = prometheus.NewDesc("postrider_redis_latency_seconds", "How long Redis took to answer when it was last asked how it is.",
		[]string{"address"}, nil)
)

func describeAll(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		subscriptionInfo, serverCount, topicCount, subscriptionCount, storeInfo, memoryUsed, memoryMax, persistent, latency,
	} {
		descs <- d
	}
}

func collectAll(out chan<- prometheus.Metric, o subscriptions.Overview) {
	set := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	set(serverCount, float64(len(o.Servers)))
	set(topicCount, float64(len(o.Topics)))
	set(subscriptionCount, float64(len(o.Subscriptions)))
	set(storeInfo, 1, o.Store.Kind)
	for _, n := range o.Store.Nodes {
		set(memoryUsed, float64(n.Used), n.Address)
		set(memoryMax, float64(n.Max), n.Address)
		kept := 0.0
		if n.Persistent {
			kept = 1
		}
		set(persistent, kept, n.Address)
		set(latency, n.Latency.Seconds(), n.Address)
	}
}
