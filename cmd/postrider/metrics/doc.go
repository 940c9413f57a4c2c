// Package metrics tells Prometheus what topics and subscriptions hold, and what this server did.
//
// What they hold comes from the overview (overview.go, subscription.go, topic.go, store.go), which is the same on every server:
// so each server exports the same numbers, and queries take the max over instances rather than the sum. What a server did,
// events.go counts, and there the sum over instances is right. Names are Google's where it has one.
//
// Cardinality is bounded: so many subscriptions and as many topics have series of their own (series.go), and the rest is summed
// up under the id OtherID.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"postrider/subscriptions"
)

// Backend is what the metrics are about: *subscriptions.Service.
type Backend interface {
	// Overview is every topic and subscription with its state. UNAVAILABLE.
	Overview(context.Context) (subscriptions.Overview, error)
}

// Options of Metrics. The zero value is for use.
type Options struct {
	// Version is the program's.
	Version string
	// Series is how many subscriptions, and how many topics, have series of their own; 0 means DefaultSeries.
	Series int
	// Logger is told why a scrape lacks something.
	Logger *slog.Logger
}

// DefaultSeries is some thirty thousand series of subscriptions.
const DefaultSeries = 1000

const (
	// scrapeTimeout is Prometheus's own default, and scrapesAtOnce enough for two of them.
	scrapeTimeout = 10 * time.Second
	scrapesAtOnce = 3
)

// Metrics are the metrics of one server.
type Metrics struct {
	Events
	registry *prometheus.Registry
	log      *slog.Logger
}

// New makes the metrics of a server. Watch adds those of its backend.
func New(o Options) *Metrics {
	if o.Series == 0 {
		o.Series = DefaultSeries
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{registry: prometheus.NewRegistry(), log: o.Logger}
	m.Events.init(m.registry, o.Series)
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postrider_build_info", Help: "Always 1; the label is the version of the server.",
		ConstLabels: prometheus.Labels{"version": o.Version},
	})
	build.Set(1)
	m.registry.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch exports what a backend holds.
func (m *Metrics) Watch(b Backend) {
	m.registry.MustRegister(newCollector(b, &m.Events, m.log))
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTimeout,
	})
}
