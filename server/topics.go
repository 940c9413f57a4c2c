package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/rules"
	"postrider/subscriptions"
)

// Topics are the records of topics. Each method may also return UNAVAILABLE.
type Topics interface {
	// CreateTopic: INVALID_ARGUMENT, ALREADY_EXISTS, ABORTED.
	CreateTopic(context.Context, subscriptions.Topic) (subscriptions.Topic, error)
	// GetTopic: INVALID_ARGUMENT, NOT_FOUND.
	GetTopic(context.Context, subscriptions.TopicName) (subscriptions.Topic, error)
	// ListTopics: INVALID_ARGUMENT.
	ListTopics(ctx context.Context, project string, p subscriptions.Page) (page []subscriptions.Topic, next string, err error)
	// UpdateTopic: NOT_FOUND, INVALID_ARGUMENT.
	UpdateTopic(ctx context.Context, change subscriptions.Topic, mask []string) (subscriptions.Topic, error)
	// DeleteTopic: INVALID_ARGUMENT, NOT_FOUND.
	DeleteTopic(context.Context, subscriptions.TopicName) error
}

func topicName(project api.ProjectID, id api.TopicID) subscriptions.TopicName {
	return subscriptions.TopicName{Project: project, ID: id}
}

// CreateTopic creates the topic of the path.
func (h *handler) CreateTopic(ctx context.Context, r api.CreateTopicRequestObject) (api.CreateTopicResponseObject, error) {
	topic, err := topicOf(topicName(r.Project, r.Topic), *r.Body, rules.EveryField)
	if err != nil {
		return nil, err
	}
	created, err := h.backend.CreateTopic(ctx, topic)
	return api.CreateTopic200JSONResponse(apiTopic(created)), err
}

// GetTopic reads a topic.
func (h *handler) GetTopic(ctx context.Context, r api.GetTopicRequestObject) (api.GetTopicResponseObject, error) {
	topic, err := h.backend.GetTopic(ctx, topicName(r.Project, r.Topic))
	return api.GetTopic200JSONResponse(apiTopic(topic)), err
}

// ListTopics reads a page of a project's topics.
func (h *handler) ListTopics(ctx context.Context, r api.ListTopicsRequestObject) (api.ListTopicsResponseObject, error) {
	page, next, err := h.backend.ListTopics(ctx, r.Project, pageOf(r.Params.PageSize, r.Params.PageToken))
	topics := make([]api.Topic, len(page))
	for i, t := range page {
		topics[i] = apiTopic(t)
	}
	return api.ListTopics200JSONResponse{Topics: topics, NextPageToken: next}, err
}

// UpdateTopic changes the fields that the mask names.
func (h *handler) UpdateTopic(ctx context.Context, r api.UpdateTopicRequestObject) (api.UpdateTopicResponseObject, error) {
	name := topicName(r.Project, r.Topic)
	change, mask, err := topicChange(name, r)
	if err != nil {
		return nil, h.unlessTopicMissing(ctx, name, err)
	}
	updated, err := h.backend.UpdateTopic(ctx, change, mask)
	return api.UpdateTopic200JSONResponse(apiTopic(updated)), err
}

func topicChange(name subscriptions.TopicName, r api.UpdateTopicRequestObject) (change subscriptions.Topic, mask []string, err error) {
	if mask, err = maskOf(r.Body.UpdateMask, r.Params.UpdateMask); err != nil {
		return change, mask, err
	}
	var body api.Topic
	if r.Body.Topic != nil {
		body = *r.Body.Topic
	}
	change, err = topicOf(name, body, rules.Masked(mask))
	return change, mask, err
}

// DeleteTopic deletes a topic; its subscriptions stay.
func (h *handler) DeleteTopic(ctx context.Context, r api.DeleteTopicRequestObject) (api.DeleteTopicResponseObject, error) {
	return api.DeleteTopic200JSONResponse{}, h.backend.DeleteTopic(ctx, topicName(r.Project, r.Topic))
}

// ListTopicSubscriptions reads a page of the names of the subscriptions attached to a topic.
func (h *handler) ListTopicSubscriptions(ctx context.Context, r api.ListTopicSubscriptionsRequestObject) (api.ListTopicSubscriptionsResponseObject, error) {
	page, next, err := h.backend.ListTopicSubscriptions(ctx, topicName(r.Project, r.Topic), pageOf(r.Params.PageSize, r.Params.PageToken))
	names := make([]string, len(page))
	for i, n := range page {
		names[i] = n.String()
	}
	return api.ListTopicSubscriptions200JSONResponse{Subscriptions: names, NextPageToken: next}, err
}

// unlessTopicMissing is err, unless the topic does not exist.
func (h *handler) unlessTopicMissing(ctx context.Context, name subscriptions.TopicName, err error) error {
	return rules.UnlessMissing(err, func() (subscriptions.Topic, error) { return h.backend.GetTopic(ctx, name) })
}
