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
	// Acknowledge: NOT_FOUND, INVALID_ARGUMENT.
	Acknowledge(ctx context.Context, name subscriptions.SubscriptionName, ackIDs []string) error
	// ModifyAckDeadline: NOT_FOUND, INVALID_ARGUMENT.
	ModifyAckDeadline(ctx context.Context, name subscriptions.SubscriptionName, ackIDs []string, d time.Duration) error
}

// Publish stores messages.
func (h *handler) Publish(ctx context.Context, r api.PublishRequestObject) (api.PublishResponseObject, error) {
	ids, err := h.backend.Publish(ctx, topicName(r.Project, r.Topic), messagesOf(r.Body.Messages))
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return api.Publish200JSONResponse{MessageIDs: out}, err
}

// Pull hands out messages. net/http ends ctx when the client closes its connection; from then on nothing is leased for it.
func (h *handler) Pull(ctx context.Context, r api.PullRequestObject) (api.PullResponseObject, error) {
	got, err := h.backend.Pull(ctx, subscriptionName(r.Project, r.Subscription), int(r.Body.MaxMessages), r.Body.ReturnImmediately)
	return api.Pull200JSONResponse{ReceivedMessages: apiReceived(got)}, err
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
