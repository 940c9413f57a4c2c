package tracing

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"

	"postrider/subscriptions"
)

var _ subscriptions.Observer = (*Tracer)(nil)

// maxLinks bounds how many traces of messages a publish span names.
const maxLinks = 100

// Publishing implements subscriptions.Observer: one span a request. Messages that carry no trace carry that of the span.
func (t *Tracer) Publishing(ctx context.Context, topic subscriptions.TopicName, msgs []subscriptions.Message) ([]subscriptions.Message, func([]subscriptions.MessageID, error)) {
	var links []api.Link
	for _, m := range msgs {
		if c := contextOf(m); c.IsValid() && len(links) < maxLinks {
			links = append(links, api.Link{SpanContext: c})
		}
	}
	if !api.SpanContextFromContext(ctx).IsValid() && len(links) > 0 {
		ctx = api.ContextWithRemoteSpanContext(ctx, links[0].SpanContext)
		links = links[1:]
	}
	ctx, span := t.tracer.Start(ctx, "publish "+topic.ID, api.WithSpanKind(api.SpanKindProducer), api.WithLinks(links...),
		api.WithAttributes(system, attribute.String("messaging.operation.type", "send"),
			attribute.String("messaging.destination.name", topic.String()),
			attribute.Int("messaging.batch.message_count", len(msgs))))
	if !span.IsRecording() {
		return msgs, func([]subscriptions.MessageID, error) { span.End() }
	}
	out := make([]subscriptions.Message, len(msgs))
	for i, m := range msgs {
		out[i] = carrying(ctx, m)
	}
	return out, func(ids []subscriptions.MessageID, err error) {
		if err != nil {
			span.SetStatus(codes.Error, string(subscriptions.CodeOf(err)))
		}
		if len(ids) == 1 {
			span.SetAttributes(attribute.String("messaging.message.id", ids[0].String()))
		}
		span.End()
	}
}

// Leased implements subscriptions.Observer: a span for each message that carries a trace which is recorded.
func (t *Tracer) Leased(_ context.Context, sub subscriptions.Subscription, at time.Time, ds []subscriptions.Delivery) {
	for _, d := range ds {
		parent := contextOf(d.Message)
		if !parent.IsSampled() {
			continue
		}
		_, span := t.tracer.Start(remote(parent), "lease "+sub.Name.ID, api.WithTimestamp(at), api.WithSpanKind(api.SpanKindConsumer),
			api.WithAttributes(ofMessage(sub, d.Message.ID, "receive")...),
			api.WithAttributes(attribute.Int("messaging.gcp_pubsub.message.delivery_attempt", d.Attempt)))
		if key := d.Message.OrderingKey; key != "" {
			span.SetAttributes(attribute.String("messaging.gcp_pubsub.message.ordering_key", key))
		}
		span.End()
		t.leases.add(leased{sub.UID, d.Message.ID, d.Number}, span.SpanContext())
	}
}

// Settled implements subscriptions.Observer: a span for each message whose lease has one.
func (t *Tracer) Settled(_ context.Context, sub subscriptions.Subscription, how subscriptions.Settled, rs []subscriptions.Receipt) {
	for _, r := range rs {
		parent, ok := t.leases.end(leased{sub.UID, r.ID, r.Number})
		if !ok {
			continue
		}
		_, span := t.tracer.Start(remote(parent), string(how)+" "+sub.Name.ID, api.WithSpanKind(api.SpanKindInternal),
			api.WithAttributes(ofMessage(sub, r.ID, "settle")...))
		span.End()
	}
}

// Pushing begins the span of a push attempt. It returns the headers that carry it and what ends it; nil where the message carries
// no trace that is recorded.
func (t *Tracer) Pushing(sub *subscriptions.Subscription, d *subscriptions.Delivery) (http.Header, func(outcome string, accepted bool, status int)) {
	parent, ok := t.leases.of(leased{sub.UID, d.Message.ID, d.Number})
	if !ok {
		if parent = contextOf(d.Message); !parent.IsSampled() {
			return nil, nil
		}
	}
	ctx, span := t.tracer.Start(remote(parent), "push "+sub.Name.ID, api.WithSpanKind(api.SpanKindClient),
		api.WithAttributes(ofMessage(*sub, d.Message.ID, "process")...),
		api.WithAttributes(attribute.String("http.request.method", http.MethodPost), attribute.String("server.address", host(sub)),
			attribute.Int("messaging.gcp_pubsub.message.delivery_attempt", d.Attempt)))
	header := http.Header{}
	w3c.Inject(ctx, propagation.HeaderCarrier(header))
	return header, func(outcome string, accepted bool, status int) {
		span.SetAttributes(attribute.String("postrider.push.outcome", outcome))
		if status != 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", status))
		}
		if !accepted {
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
	}
}

// host is the endpoint's; the rest of its URL may hold secrets.
func host(sub *subscriptions.Subscription) string {
	if sub.Push == nil {
		return ""
	}
	u, err := url.Parse(sub.Push.Endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func remote(c api.SpanContext) context.Context {
	return api.ContextWithRemoteSpanContext(context.Background(), c)
}

func ofMessage(sub subscriptions.Subscription, id subscriptions.MessageID, operation string) []attribute.KeyValue {
	return []attribute.KeyValue{
		system, attribute.String("messaging.operation.type", operation),
		attribute.String("messaging.destination.subscription.name", sub.Name.String()),
		attribute.String("messaging.message.id", id.String()),
	}
}
