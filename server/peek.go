package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Peeks look at messages without leasing them. Each method may also return UNAVAILABLE.
type Peeks interface {
	// Peek: NOT_FOUND, INVALID_ARGUMENT.
	Peek(context.Context, subscriptions.SubscriptionName, subscriptions.Page) (page []subscriptions.Peeked, next string, err error)
	// DeadLetters: NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION.
	DeadLetters(context.Context, subscriptions.DeadLetterQuery, subscriptions.Page) (page []subscriptions.DeadLetter, next string, err error)
}

// Peek reads a page of a subscription's unacked messages.
func (h *handler) Peek(ctx context.Context, r api.PeekRequestObject) (api.PeekResponseObject, error) {
	page, next, err := h.backend.Peek(ctx, subscriptionName(r.Project, r.Subscription), pageOf(r.Body.PageSize, r.Body.PageToken))
	messages := make([]api.PeekedMessage, len(page))
	for i, m := range page {
		messages[i] = apiPeeked(m)
	}
	return api.Peek200JSONResponse{Messages: messages, NextPageToken: next}, err
}

var peekStates = map[subscriptions.PeekState]string{
	subscriptions.PeekNew: "NEW", subscriptions.PeekLeased: "LEASED", subscriptions.PeekWaiting: "WAITING",
	subscriptions.PeekParked: "PARKED", subscriptions.PeekDead: "DEAD",
}

func apiPeeked(m subscriptions.Peeked) api.PeekedMessage {
	message := apiMessage(m.Message)
	out := api.PeekedMessage{
		Message: &message, State: api.PeekedMessageState(peekStates[m.State]), Attempts: wire.Int32(m.Attempt), FailedAttempts: apiAttempts(m.Failed),
	}
	if !m.Next.IsZero() {
		out.NextTime = wire.NewTimestamp(m.Next)
	}
	if len(m.Failed) > 0 {
		out.FailedTime, out.LastError = wire.NewTimestamp(m.Failed[0].Time), m.Failed[0].Line()
	}
	return out
}

func apiAttempts(failed []subscriptions.Attempt) (out []api.FailedAttempt) {
	for _, a := range failed {
		out = append(out, apiAttempt(a))
	}
	return out
}

func apiMessage(m subscriptions.Message) api.PubsubMessage {
	return api.PubsubMessage{
		Data: m.Data, Attributes: m.Attributes, MessageID: m.ID.String(), PublishTime: wire.NewTimestamp(m.PublishTime()), OrderingKey: m.OrderingKey,
	}
}
