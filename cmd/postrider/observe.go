package main

import (
	"context"
	"net/http"

	"postrider/metrics"
	"postrider/pusher"
	"postrider/subscriptions"
)

// pushObserver counts pushes.
type pushObserver struct{ metrics *metrics.Metrics }

// Pushing implements pusher.Observer.
func (o pushObserver) Pushing(_ context.Context, sub subscriptions.Subscription, _ subscriptions.Delivery) (http.Header, func(pusher.Pushed)) {
	return nil, func(p pusher.Pushed) { o.metrics.Pushed(sub, p.Outcome, p.Status, p.Took) }
}
