// Package tracing makes OpenTelemetry spans of a message's way through the server and sends them over OTLP: its publish, each
// lease, each push attempt, and its ack or nack.
//
// The context of a trace travels in the message, in the attribute in which Google's client libraries put it, so that a trace
// begun by a publisher goes on in whoever pulls the message; pushes carry it as the header traceparent. A message whose publisher
// traces nothing begins a trace here, or takes up that of the HTTP request which brought it.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	api "go.opentelemetry.io/otel/trace"
)

// Options of a Tracer.
type Options struct {
	// Endpoint is the URL of an OTLP receiver over HTTP; without a path /v1/traces is meant.
	Endpoint string
	// Ratio is the share of traces begun here that are recorded, 0 to 1. Of traces begun elsewhere their beginning decides.
	Ratio   float64
	Version string
	// Logger is told, now and then, that spans could not be sent.
	Logger *slog.Logger
}

// tracesPath is where OTLP over HTTP has traces.
const tracesPath = "/v1/traces"

// ParseEndpoint checks an endpoint and completes its path.
func ParseEndpoint(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is not a URL of http or https, such as http://127.0.0.1:4318", text)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	return u.String(), nil
}

// Tracer makes spans. It is a subscriptions.Observer.
type Tracer struct {
	provider *trace.TracerProvider
	tracer   api.Tracer
	leases   *leases
}

// New makes a Tracer, which sends spans in the background until Close.
func New(ctx context.Context, o Options) (*Tracer, error) {
	endpoint, err := ParseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, err
	}
	if o.Logger != nil {
		otel.SetErrorHandler(&troubles{log: o.Logger})
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(o.Ratio))),
		trace.WithResource(resource.NewWithAttributes(semconv.SchemaURL,
			semconv.ServiceName("postrider"), semconv.ServiceVersion(o.Version))),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("postrider"), leases: newLeases()}, nil
}

// Close sends what is left.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// w3c reads and writes contexts as traceparent and tracestate.
var w3c propagation.TraceContext

// Continue takes up traces that requests bring.
func (t *Tracer) Continue(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := w3c.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		if ctx != r.Context() {
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// system is what every span of ours says.
var system = attribute.String("messaging.system", "gcp_pubsub")

// troubleEvery is how often at most the log tells of trouble.
const troubleEvery = time.Minute

// troubles logs what OpenTelemetry cannot tell a caller.
type troubles struct {
	log *slog.Logger
	mu  sync.Mutex
	at  time.Time
}

// Handle implements otel.ErrorHandler.
func (t *troubles) Handle(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.at) >= troubleEvery {
		t.at = time.Now()
		t.log.Warn("spans could not be sent", "error", err)
	}
}
