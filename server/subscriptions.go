package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/rules"
	"postrider/subscriptions"
)

// Subscriptions are the records of subscriptions. Each method may also return UNAVAILABLE.
type Subscriptions interface {
	// CreateSubscription: NOT_FOUND for the topic or the dead-letter topic, INVALID_ARGUMENT, ALREADY_EXISTS, ABORTED.
	CreateSubscription(context.Context, subscriptions.Subscription) (subscriptions.Subscription, error)
	// GetSubscription: INVALID_ARGUMENT, NOT_FOUND.
	GetSubscription(context.Context, subscriptions.SubscriptionName) (subscriptions.Subscription, error)
	// ListSubscriptions: INVALID_ARGUMENT.
	ListSubscriptions(ctx context.Context, project string, p subscriptions.Page) (page []subscriptions.Subscription, next string, err error)
	// UpdateSubscription: NOT_FOUND, INVALID_ARGUMENT.
	UpdateSubscription(ctx context.Context, change subscriptions.Subscription, mask []string) (subscriptions.Subscription, error)
	// DeleteSubscription: INVALID_ARGUMENT, NOT_FOUND.
	DeleteSubscription(context.Context, subscriptions.SubscriptionName) error
}

// Attachments are where subscriptions get messages from and where they send them. Each method may also return UNAVAILABLE.
type Attachments interface {
	// ListTopicSubscriptions: NOT_FOUND, INVALID_ARGUMENT.
	ListTopicSubscriptions(ctx context.Context, name subscriptions.TopicName, p subscriptions.Page) (page []subscriptions.SubscriptionName, next string, err error)
	// ModifyPushConfig: NOT_FOUND, INVALID_ARGUMENT.
	ModifyPushConfig(ctx context.Context, name subscriptions.SubscriptionName, push *subscriptions.PushConfig, attributes map[string]string) error
	// DetachSubscription: INVALID_ARGUMENT, NOT_FOUND.
	DetachSubscription(context.Context, subscriptions.SubscriptionName) error
}

func subscriptionName(project api.ProjectID, id api.SubscriptionID) subscriptions.SubscriptionName {
	return subscriptions.SubscriptionName{Project: project, ID: id}
}

// CreateSubscription creates the subscription of the path.
func (h *handler) CreateSubscription(ctx context.Context, r api.CreateSubscriptionRequestObject) (api.CreateSubscriptionResponseObject, error) {
	sub, err := newSubscriptionOf(subscriptionName(r.Project, r.Subscription), *r.Body)
	if err != nil {
		// A topic whose name says nothing cannot be missing.
		if topic, unnamed := subscriptions.ParseTopicName("topic", r.Body.Topic); unnamed == nil {
			err = h.unlessTopicMissing(ctx, topic, err)
		}
		return nil, err
	}
	created, err := h.backend.CreateSubscription(ctx, sub)
	return api.CreateSubscription200JSONResponse(apiSubscription(created)), err
}

// GetSubscription reads a subscription.
func (h *handler) GetSubscription(ctx context.Context, r api.GetSubscriptionRequestObject) (api.GetSubscriptionResponseObject, error) {
	sub, err := h.backend.GetSubscription(ctx, subscriptionName(r.Project, r.Subscription))
	return api.GetSubscription200JSONResponse(apiSubscription(sub)), err
}

// ListSubscriptions reads a page of a project's subscriptions.
func (h *handler) ListSubscriptions(ctx context.Context, r api.ListSubscriptionsRequestObject) (api.ListSubscriptionsResponseObject, error) {
	page, next, err := h.backend.ListSubscriptions(ctx, r.Project, pageOf(r.Params.PageSize, r.Params.PageToken))
	subs := make([]api.Subscription, len(page))
	for i, s := range page {
		subs[i] = apiSubscription(s)
	}
	return api.ListSubscriptions200JSONResponse{Subscriptions: subs, NextPageToken: next}, err
}

// UpdateSubscription changes the fields that the mask names.
func (h *handler) UpdateSubscription(ctx context.Context, r api.UpdateSubscriptionRequestObject) (api.UpdateSubscriptionResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	change, mask, err := subscriptionChange(name, r)
	if err != nil {
		return nil, h.unlessSubscriptionMissing(ctx, name, err)
	}
	updated, err := h.backend.UpdateSubscription(ctx, change, mask)
	return api.UpdateSubscription200JSONResponse(apiSubscription(updated)), err
}

func subscriptionChange(name subscriptions.SubscriptionName, r api.UpdateSubscriptionRequestObject) (change subscriptions.Subscription, mask []string, err error) {
	if mask, err = maskOf(r.Body.UpdateMask, r.Params.UpdateMask); err != nil {
		return change, mask, err
	}
	var body api.Subscription
	if r.Body.Subscription != nil {
		body = *r.Body.Subscription
	}
	change, err = subscriptionOf(name, body, rules.Masked(mask))
	return change, mask, err
}

// DeleteSubscription deletes a subscription with its backlog.
func (h *handler) DeleteSubscription(ctx context.Context, r api.DeleteSubscriptionRequestObject) (api.DeleteSubscriptionResponseObject, error) {
	return api.DeleteSubscription200JSONResponse{}, h.backend.DeleteSubscription(ctx, subscriptionName(r.Project, r.Subscription))
}

// ModifyPushConfig replaces the push configuration.
func (h *handler) ModifyPushConfig(ctx context.Context, r api.ModifyPushConfigRequestObject) (api.ModifyPushConfigResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	push, attributes := pushOf(r.Body.PushConfig)
	return api.ModifyPushConfig200JSONResponse{}, h.backend.ModifyPushConfig(ctx, name, push, attributes)
}

// DetachSubscription cuts a subscription off its topic.
func (h *handler) DetachSubscription(ctx context.Context, r api.DetachSubscriptionRequestObject) (api.DetachSubscriptionResponseObject, error) {
	return api.DetachSubscription200JSONResponse{}, h.backend.DetachSubscription(ctx, subscriptionName(r.Project, r.Subscription))
}

// unlessSubscriptionMissing is err, unless the subscription does not exist.
func (h *handler) unlessSubscriptionMissing(ctx context.Context, name subscriptions.SubscriptionName, err error) error {
	return rules.UnlessMissing(err, func() (subscriptions.Subscription, error) { return h.backend.GetSubscription(ctx, name) })
}
