package main

import (
	"context"
	"net/http"
	"time"

	"postrider/cmd/postrider/metrics"
	"postrider/cmd/postrider/tracing"
	"postrider/pusher"
	"postrider/subscriptions"
)

// observer counts what a server does and, if there is a tracer, traces it.
type observer struct {
	*metrics.Metrics
	tracer *tracing.Tracer
}

// observe is what the parts of a server are to tell of what they do.
func (a *app) observe() (subscriptions.Observer, pusher.Observer) {
	o := observer{a.metrics, a.tracer}
	if a.tracer == nil {
		return a.metrics, o
	}
	return o, o
}

// Publishing implements subscriptions.Observer.
func (o observer) Publishing(ctx context.Context, topic subscriptions.TopicName, msgs []subscriptions.Message) ([]subscriptions.Message, func([]subscriptions.MessageID, error)) {
	_, counted := o.Metrics.Publishing(ctx, topic, msgs)
	msgs, traced := o.tracer.Publishing(ctx, topic, msgs)
	return msgs, func(ids []subscriptions.MessageID, err error) {
		counted(ids, err)
		traced(ids, err)
	}
}

// Leased implements subscriptions.Observer.
func (o observer) Leased(ctx context.Context, sub subscriptions.Subscription, at time.Time, ds []subscriptions.Delivery) {
	o.Metrics.Leased(ctx, sub, at, ds)
	o.tracer.Leased(ctx, sub, at, ds)
}

// Settled implements subscriptions.Observer.
func (o observer) Settled(ctx context.Context, sub subscriptions.Subscription, how subscriptions.Settled, rs []subscriptions.Receipt) {
	o.Metrics.Settled(ctx, sub, how, rs)
	o.tracer.Settled(ctx, sub, how, rs)
}

// Pushing implements pusher.Observer.
func (o observer) Pushing(_ context.Context, sub *subscriptions.Subscription, d *subscriptions.Delivery) (http.Header, func(pusher.Pushed)) {
	if o.tracer == nil {
		return nil, nil
	}
	header, traced := o.tracer.Pushing(sub, d)
	if traced == nil {
		return header, nil
	}
	return header, func(p pusher.Pushed) { traced(p.Outcome, p.Accepted(), p.Status) }
}

// Pushed implements pusher.Observer.
func (o observer) Pushed(sub *subscriptions.Subscription, p pusher.Pushed) {
	o.Metrics.Pushed(sub.Name, p.Outcome, p.Status, p.Took)
}

// traceFlush is how long the last spans may take to be sent.
const traceFlush = 5 * time.Second

// openTracer starts to trace, if that is asked for.
func (a *app) openTracer(ctx context.Context) (err error) {
	if a.config.OTLPEndpoint == "" {
		return nil
	}
	a.tracer, err = tracing.New(ctx, tracing.Options{
		Endpoint: a.config.OTLPEndpoint, Ratio: a.config.OTLPRatio, Version: version(), Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.onClose("tracer", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), traceFlush)
		defer cancel()
		if err := a.tracer.Close(ctx); err != nil {
			a.log.Warn("the last spans could not be sent", "error", err)
		}
		return nil
	})
	return nil
}

// traced takes up the traces of requests.
func (a *app) traced(next http.Handler) http.Handler {
	if a.tracer == nil {
		return next
	}
	return a.tracer.Continue(next)
}
