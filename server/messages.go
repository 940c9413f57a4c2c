package server

import (
	"context"
	"time"

	"postrider/server/api"
	"postrider/subscriptions"
)

// Messages are what goes through. Each method may also return UNAVAILABLE.
type Messages interface {
	// Publish: NOT_FOUND, INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
	Publish(context.Context, subscriptions.TopicName, []subscriptions.Message) ([]subscriptions.MessageID, error)
	// Pull releases what it leased for a caller who has gone, that is, whose context has ended. NOT_FOUND,
	// INVALID_ARGUMENT, FAILED_PRECONDITION.
	Pull(ctx context.Context, name subscriptions.SubscriptionName, limit int, immediate bool) ([]subscriptions.Received, error)
	// Release gives back what Pull handed out and its caller did not get, without spending an attempt.
	Release(ctx context.Context, name subscriptions.SubscriptionName, ackIDs []string) error
	// Acknowledge: NOT_FOUND, INVALID_ARGUMENT.
	Acknowledge(ctx context.Context, name subscriptions.SubscriptionName, ackIDs []string) error
	// ModifyAckDeadline: NOT_FOUND, INVALID_ARGUMENT.
	ModifyAckDeadline(ctx context.Context, name subscriptions.SubscriptionName, ackIDs []string, d time.Duration) error
}

// Publish stores messages.
func (h *handler) Publish(ctx context.Context, r api.PublishRequestObject) (api.PublishResponseObject, error) {
	ids, err := h.backend.Publish(ctx, topicName(r.Project, r.Topic), messagesOf(r.Body.Messages))
	return publishAnswer(ids), err
}

// Pull hands out messages. net/http ends ctx when the client closes its connection; from then on nothing is leased for it.
func (h *handler) Pull(ctx context.Context, r api.PullRequestObject) (api.PullResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	got, err := h.backend.Pull(ctx, name, int(r.Body.MaxMessages), r.Body.ReturnImmediately)
	if err != nil || len(got) == 0 {
		return api.Pull200JSONResponse{}, err
	}
	return pullAnswer{
		received: got,
		unwritten: func() error {
			ids := make([]string, len(got))
			for i, m := range got {
				ids[i] = m.AckID
			}
			return h.backend.Release(context.WithoutCancel(ctx), name, ids)
		},
	}, nil
}

// Acknowledge settles messages for good.
func (h *handler) Acknowledge(ctx context.Context, r api.AcknowledgeRequestObject) (api.AcknowledgeResponseObject, error) {
	return api.Acknowledge200JSONResponse{}, h.backend.Acknowledge(ctx, subscriptionName(r.Project, r.Subscription), r.Body.AckIDs)
}

// ModifyAckDeadline extends leases, or gives messages back. Absent seconds are 0, as Google's clients send them.
func (h *handler) ModifyAckDeadline(ctx context.Context, r api.ModifyAckDeadlineRequestObject) (api.ModifyAckDeadlineResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	return api.ModifyAckDeadline200JSONResponse{}, h.backend.ModifyAckDeadline(ctx, name, r.Body.AckIDs, seconds(r.Body.AckDeadlineSeconds))
}
