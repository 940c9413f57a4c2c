package tracing

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"

	"postrider/subscriptions"
)

// prefix is what Google's client libraries put before traceparent and tracestate in a message's attributes.
const prefix = "googclient_"

// carrier is a message's attributes as a propagator sees them.
type carrier map[string]string

var _ propagation.TextMapCarrier = carrier(nil)

func (c carrier) Get(key string) string { return c[prefix+key] }
func (c carrier) Set(key, value string) { c[prefix+key] = value }
func (c carrier) Keys() []string        { return nil } // which no propagator of ours asks for

// contextOf is the trace that a message carries; invalid without one.
func contextOf(m subscriptions.Message) api.SpanContext {
	if m.Attributes[prefix+"traceparent"] == "" {
		return api.SpanContext{}
	}
	return api.SpanContextFromContext(w3c.Extract(context.Background(), carrier(m.Attributes)))
}

// carrying is m with the trace of ctx, unless it carries one or is full of attributes.
func carrying(ctx context.Context, m subscriptions.Message) subscriptions.Message {
	if m.Attributes[prefix+"traceparent"] != "" || len(m.Attributes) >= subscriptions.MaxAttributes {
		return m
	}
	attributes := maps.Clone(m.Attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	w3c.Inject(ctx, carrier(attributes))
	m.Attributes = attributes
	return m
}
