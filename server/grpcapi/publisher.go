package grpcapi

import (
	"context"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"postrider/server/rules"
	"postrider/subscriptions"
)

// publisher is google.pubsub.v1.Publisher. What it lacks the generated code answers for.
type publisher struct {
	pubsubpb.UnimplementedPublisherServer
	backend Backend
}

// CreateTopic creates a topic.
func (p *publisher) CreateTopic(ctx context.Context, r *pubsubpb.Topic) (*pubsubpb.Topic, error) {
	name, err := subscriptions.ParseTopicName("name", r.GetName())
	if err != nil {
		return nil, err
	}
	topic, err := topicOf(name, r, rules.EveryField)
	if err != nil {
		return nil, err
	}
	created, err := p.backend.CreateTopic(ctx, topic)
	return pbTopic(created), err
}

// GetTopic reads a topic.
func (p *publisher) GetTopic(ctx context.Context, r *pubsubpb.GetTopicRequest) (*pubsubpb.Topic, error) {
	name, err := subscriptions.ParseTopicName("topic", r.GetTopic())
	if err != nil {
		return nil, err
	}
	topic, err := p.backend.GetTopic(ctx, name)
	return pbTopic(topic), err
}

// ListTopics reads a page of a project's topics.
func (p *publisher) ListTopics(ctx context.Context, r *pubsubpb.ListTopicsRequest) (*pubsubpb.ListTopicsResponse, error) {
	project, err := projectOf(r.GetProject())
	if err != nil {
		return nil, err
	}
	page, next, err := p.backend.ListTopics(ctx, project, pageOf(r))
	topics := make([]*pubsubpb.Topic, len(page))
	for i, t := range page {
		topics[i] = pbTopic(t)
	}
	return &pubsubpb.ListTopicsResponse{Topics: topics, NextPageToken: next}, err
}

// UpdateTopic changes the fields that the mask names.
func (p *publisher) UpdateTopic(ctx context.Context, r *pubsubpb.UpdateTopicRequest) (*pubsubpb.Topic, error) {
	name, err := subscriptions.ParseTopicName("topic.name", r.GetTopic().GetName())
	if err != nil {
		return nil, err
	}
	change, mask, err := topicChange(name, r)
	if err != nil {
		return nil, rules.UnlessMissing(err, func() (subscriptions.Topic, error) { return p.backend.GetTopic(ctx, name) })
	}
	updated, err := p.backend.UpdateTopic(ctx, change, mask)
	return pbTopic(updated), err
}

func topicChange(name subscriptions.TopicName, r *pubsubpb.UpdateTopicRequest) (change subscriptions.Topic, mask []string, err error) {
	if mask, err = maskOf(r.GetUpdateMask()); err != nil {
		return change, mask, err
	}
	change, err = topicOf(name, r.GetTopic(), rules.Masked(mask))
	return change, mask, err
}

// DeleteTopic deletes a topic; its subscriptions stay.
func (p *publisher) DeleteTopic(ctx context.Context, r *pubsubpb.DeleteTopicRequest) (*emptypb.Empty, error) {
	name, err := subscriptions.ParseTopicName("topic", r.GetTopic())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, p.backend.DeleteTopic(ctx, name)
}

// ListTopicSubscriptions reads a page of the names of the subscriptions attached to a topic.
func (p *publisher) ListTopicSubscriptions(ctx context.Context, r *pubsubpb.ListTopicSubscriptionsRequest) (*pubsubpb.ListTopicSubscriptionsResponse, error) {
	name, err := subscriptions.ParseTopicName("topic", r.GetTopic())
	if err != nil {
		return nil, err
	}
	page, next, err := p.backend.ListTopicSubscriptions(ctx, name, pageOf(r))
	names := make([]string, len(page))
	for i, n := range page {
		names[i] = n.String()
	}
	return &pubsubpb.ListTopicSubscriptionsResponse{Subscriptions: names, NextPageToken: next}, err
}

// DetachSubscription cuts a subscription off its topic.
func (p *publisher) DetachSubscription(ctx context.Context, r *pubsubpb.DetachSubscriptionRequest) (*pubsubpb.DetachSubscriptionResponse, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	return &pubsubpb.DetachSubscriptionResponse{}, p.backend.DetachSubscription(ctx, name)
}

// Publish stores messages.
func (p *publisher) Publish(ctx context.Context, r *pubsubpb.PublishRequest) (*pubsubpb.PublishResponse, error) {
	name, err := subscriptions.ParseTopicName("topic", r.GetTopic())
	if err != nil {
		return nil, err
	}
	ids, err := p.backend.Publish(ctx, name, messagesOf(r.GetMessages()))
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return &pubsubpb.PublishResponse{MessageIds: out}, err
}
