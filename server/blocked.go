package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Blocks are what stands in the way of ordering keys. Each method may also return UNAVAILABLE.
type Blocks interface {
	// BlockedKeys: NOT_FOUND, INVALID_ARGUMENT.
	BlockedKeys(context.Context, subscriptions.SubscriptionName, subscriptions.Page) (page []subscriptions.Block, next string, err error)
	// UnblockKey: NOT_FOUND, INVALID_ARGUMENT, ABORTED, FAILED_PRECONDITION.
	UnblockKey(context.Context, subscriptions.SubscriptionName, subscriptions.Unblocking) error
}

// ListBlockedKeys reads a page of a subscription's blocked ordering keys.
func (h *handler) ListBlockedKeys(ctx context.Context, r api.ListBlockedKeysRequestObject) (api.ListBlockedKeysResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	page, next, err := h.backend.BlockedKeys(ctx, name, pageOf(r.Body.PageSize, r.Body.PageToken))
	keys := make([]api.BlockedKey, len(page))
	for i, b := range page {
		keys[i] = apiBlockedKey(b)
	}
	return api.ListBlockedKeys200JSONResponse{BlockedKeys: keys, NextPageToken: next}, err
}

var blockedKeyStates = map[subscriptions.BlockState]api.BlockedKeyState{
	subscriptions.BlockTried:   api.BlockedKeyStateDelivering,
	subscriptions.BlockWaiting: api.BlockedKeyStateWaiting,
	subscriptions.BlockDead:    api.BlockedKeyStateDead,
}

func apiBlockedKey(b subscriptions.Block) api.BlockedKey {
	m := b.Head.Message
	key := api.BlockedKey{
		OrderingKey: m.OrderingKey, MessageID: m.ID.String(), PublishTime: wire.NewTimestamp(m.PublishTime()),
		BlockedTime: wire.NewTimestamp(b.Since), NextTime: wire.NewTimestamp(b.Next),
		Attempts: wire.Int32(b.Head.Attempt), State: blockedKeyStates[b.State], MessagesBehind: wire.Int64(b.Behind),
		FailedAttempts: apiAttempts(b.Head.Failed),
	}
	if failed := b.Head.Failed; len(failed) > 0 {
		key.FailedTime, key.LastError = wire.NewTimestamp(failed[0].Time), failed[0].Line()
	}
	return key
}

func apiAttempt(a subscriptions.Attempt) api.FailedAttempt {
	out := api.FailedAttempt{
		Attempt: wire.Int32(a.Number), Time: wire.NewTimestamp(a.Time), Status: wire.Int32(a.Status), Reason: a.Reason, Answer: a.Answer,
	}
	if a.Took > 0 {
		out.Duration = wire.NewDuration(a.Took)
	}
	return out
}

// UnblockKey takes the message that blocks an ordering key out of the way.
func (h *handler) UnblockKey(ctx context.Context, r api.UnblockKeyRequestObject) (api.UnblockKeyResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	u := subscriptions.Unblocking{OrderingKey: r.Body.OrderingKey, MessageID: r.Body.MessageID}
	switch r.Body.Action {
	case api.UnblockActionDrop:
	case api.UnblockActionDeadLetter:
		u.DeadLetter = true
	default:
		err := subscriptions.Errorf(subscriptions.InvalidArgument, "action: DROP or DEAD_LETTER is required")
		return nil, h.unlessSubscriptionMissing(ctx, name, err)
	}
	return api.UnblockKey200JSONResponse{}, h.backend.UnblockKey(ctx, name, u)
}
