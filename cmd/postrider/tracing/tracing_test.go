package tracing

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"postrider/subscriptions"
)

func TestParseEndpoint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://127.0.0.1:4318":        "http://127.0.0.1:4318/v1/traces",
		"https://otel.example/":        "https://otel.example/v1/traces",
		"https://otel.example/a/b?c=d": "https://otel.example/a/b?c=d",
		"127.0.0.1:4318":               "",
		"grpc://127.0.0.1:4317":        "",
		"http://":                      "",
		"":                             "",
	} {
		got, err := ParseEndpoint(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// A message that is full of attributes, or has a trace, stays as it is; what the caller holds is never changed.
func TestCarrying(t *testing.T) {
	t.Parallel()
	ctx, span := trace.NewTracerProvider().Tracer("test").Start(t.Context(), "publish")
	defer span.End()
	attributes := map[string]string{"k": "v"}
	m := carrying(ctx, subscriptions.Message{Attributes: attributes})
	if len(attributes) != 1 || contextOf(m).SpanID() != span.SpanContext().SpanID() {
		t.Errorf("%v carries %v", attributes, m.Attributes)
	}
	full := map[string]string{}
	for i := range subscriptions.MaxAttributes {
		full[fmt.Sprint(i)] = "v"
	}
	if m := carrying(ctx, subscriptions.Message{Attributes: full}); contextOf(m).IsValid() {
		t.Error("a message has more attributes than it may have")
	}
	for _, bad := range []string{"x", "00-0-0-01", strings.Repeat("0", 1024)} {
		m := subscriptions.Message{Attributes: map[string]string{"googclient_traceparent": bad}}
		if contextOf(m).IsValid() || carrying(context.Background(), m).Attributes["googclient_traceparent"] != bad {
			t.Errorf("%q is a trace", bad)
		}
	}
}

func TestLeasesAreBounded(t *testing.T) {
	t.Parallel()
	l := newLeases()
	for i := range 3 * mostLeases {
		l.add(leased{"s", subscriptions.NewMessageID(1, int64(i), 0), 1}, api.SpanContext{})
	}
	if len(l.spans) > mostLeases {
		t.Errorf("%d are remembered", len(l.spans))
	}
	last := leased{"s", subscriptions.NewMessageID(1, 3*mostLeases-1, 0), 1}
	if _, ok := l.end(last); !ok {
		t.Error("the last one is forgotten")
	}
	if _, ok := l.end(last); ok {
		t.Error("it ended twice")
	}
}
