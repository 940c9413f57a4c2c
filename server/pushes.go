package server

import (
	"context"

	"postrider/server/api"
	"postrider/subscriptions"
)

// Pushes are how the pushes of a subscription go. Each method may also return UNAVAILABLE.
type Pushes interface {
	// ClosePushBreaker: INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION.
	ClosePushBreaker(context.Context, subscriptions.SubscriptionName) (was bool, err error)
}

// CloseBreaker closes the circuit breaker of a subscription's endpoint.
func (h *handler) CloseBreaker(ctx context.Context, r api.CloseBreakerRequestObject) (api.CloseBreakerResponseObject, error) {
	was, err := h.backend.ClosePushBreaker(ctx, subscriptionName(r.Project, r.Subscription))
	return api.CloseBreaker200JSONResponse{WasOpen: was}, err
}
