package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Delays are the messages of topics that are not due yet. Each method may also return UNAVAILABLE.
type Delays interface {
	// Delayed: NOT_FOUND, INVALID_ARGUMENT.
	Delayed(context.Context, subscriptions.TopicName, subscriptions.Page) (page subscriptions.DelayedResult, next string, err error)
	// CancelDelayed: NOT_FOUND, INVALID_ARGUMENT.
	CancelDelayed(ctx context.Context, name subscriptions.TopicName, ids []string) ([]subscriptions.MessageID, error)
}

// ListDelayed reads a page of a topic's delayed messages.
func (h *handler) ListDelayed(ctx context.Context, r api.ListDelayedRequestObject) (api.ListDelayedResponseObject, error) {
	page, next, err := h.backend.Delayed(ctx, topicName(r.Project, r.Topic), pageOf(r.Body.PageSize, r.Body.PageToken))
	messages := make([]api.DelayedMessage, len(page.Messages))
	for i, m := range page.Messages {
		messages[i] = api.DelayedMessage{
			MessageID: m.Message.ID.String(), PublishTime: wire.NewTimestamp(m.Message.PublishTime()), DueTime: wire.NewTimestamp(m.Due),
			Attributes: m.Message.Attributes, Bytes: wire.Int64(m.Bytes),
		}
	}
	return api.ListDelayed200JSONResponse{
		Messages: messages, NextPageToken: next, TotalMessages: wire.Int64(page.Count), TotalBytes: wire.Int64(page.Bytes),
	}, err
}

// CancelDelayed drops messages that are not due yet.
func (h *handler) CancelDelayed(ctx context.Context, r api.CancelDelayedRequestObject) (api.CancelDelayedResponseObject, error) {
	cancelled, err := h.backend.CancelDelayed(ctx, topicName(r.Project, r.Topic), r.Body.MessageIDs)
	ids := make([]string, len(cancelled))
	for i, id := range cancelled {
		ids[i] = id.String()
	}
	return api.CancelDelayed200JSONResponse{MessageIDs: ids}, err
}
