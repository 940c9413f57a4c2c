package server

import (
	"context"
	"time"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Pushes are how the pushes of a subscription go. Each method may also return UNAVAILABLE.
type Pushes interface {
	// ClosePushBreaker: INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION.
	ClosePushBreaker(context.Context, subscriptions.SubscriptionName) (was bool, err error)
	// Explain: INVALID_ARGUMENT, NOT_FOUND.
	Explain(context.Context, subscriptions.SubscriptionName) (subscriptions.Explanation, error)
}

// CloseBreaker closes the circuit breaker of a subscription's endpoint.
func (h *handler) CloseBreaker(ctx context.Context, r api.CloseBreakerRequestObject) (api.CloseBreakerResponseObject, error) {
	was, err := h.backend.ClosePushBreaker(ctx, subscriptionName(r.Project, r.Subscription))
	return api.CloseBreaker200JSONResponse{WasOpen: was}, err
}

// Explain tells why nothing of a subscription is pushed now.
func (h *handler) Explain(ctx context.Context, r api.ExplainRequestObject) (api.ExplainResponseObject, error) {
	e, err := h.backend.Explain(ctx, subscriptionName(r.Project, r.Subscription))
	answer := api.ExplainResponse{
		Summary: e.Summary, Owner: e.Owner, BlockedKeys: wire.Int32(e.Blocked),
		Undelivered: wire.Int64(e.Stats.Undelivered), Outstanding: wire.Int64(e.Stats.Outstanding), Dead: wire.Int64(e.Stats.Dead),
		UnackedBytes: wire.Int64(e.Stats.Bytes), UpperBound: e.Stats.UpperBound, Warnings: e.Warnings,
	}
	if !e.Expires.IsZero() {
		answer.ExpireTime = wire.NewTimestamp(e.Expires)
	}
	if e.Stats.OldestAge > 0 {
		answer.OldestUnackedAge = wire.NewDuration(e.Stats.OldestAge)
	}
	if b := e.Breaker; b.Open {
		answer.Breaker = &api.OpenBreaker{
			OpenTime: wire.NewTimestamp(b.OpenTime), NextProbeTime: wire.NewTimestamp(b.ProbeTime), FailedProbes: wire.Int32(b.Probes),
		}
	}
	answer.PushLimits = apiPushLimits(e.Limits)
	if e.Push.Server != "" {
		answer.Push = apiPushState(e)
	}
	return api.Explain200JSONResponse(answer), err
}

func apiPushState(e subscriptions.Explanation) *api.PushState {
	optional := func(t time.Time) *wire.Timestamp {
		if t.IsZero() {
			return nil
		}
		return wire.NewTimestamp(t)
	}
	r := e.Push
	s := &api.PushState{
		Server: r.Server, Answered: e.Answered, ReportTime: wire.NewTimestamp(r.At), Window: wire.Int32(r.Window), Limit: wire.Int32(r.Limit),
		InFlight: wire.Int32(r.InFlight), BackoffUntilTime: optional(r.Backoff), RetryAfterUntilTime: optional(r.RetryAfter),
		RateLimitedUntilTime: optional(r.Paced), HalfOpen: r.HalfOpen, ServerFull: r.Full,
	}
	for _, failed := range r.Errors {
		a := apiAttempt(failed.Attempt)
		a.MessageID = failed.MessageID.String()
		s.LastErrors = append(s.LastErrors, a)
	}
	return s
}
