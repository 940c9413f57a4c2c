package grpcapi

import (
	"context"
	"strings"
	"sync"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"postrider/server/rules"
	"postrider/subscriptions"
)

// subscriber is google.pubsub.v1.Subscriber. What it lacks the generated code answers for.
type subscriber struct {
	pubsubpb.UnimplementedSubscriberServer
	backend   Backend
	receivers *sync.WaitGroup
}

// CreateSubscription creates a subscription. One without a name gets one.
func (s *subscriber) CreateSubscription(ctx context.Context, r *pubsubpb.Subscription) (*pubsubpb.Subscription, error) {
	topic, unnamed := subscriptions.ParseTopicName("topic", r.GetTopic())
	sub, err := newSubscriptionOf(r)
	if err != nil {
		// A topic whose name says nothing cannot be missing.
		if unnamed == nil {
			err = rules.UnlessMissing(err, func() (subscriptions.Topic, error) { return s.backend.GetTopic(ctx, topic) })
		}
		return nil, err
	}
	created, err := s.backend.CreateSubscription(ctx, sub)
	return pbSubscription(created), err
}

// GetSubscription reads a subscription.
func (s *subscriber) GetSubscription(ctx context.Context, r *pubsubpb.GetSubscriptionRequest) (*pubsubpb.Subscription, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	sub, err := s.backend.GetSubscription(ctx, name)
	return pbSubscription(sub), err
}

// ListSubscriptions reads a page of a project's subscriptions.
func (s *subscriber) ListSubscriptions(ctx context.Context, r *pubsubpb.ListSubscriptionsRequest) (*pubsubpb.ListSubscriptionsResponse, error) {
	project, err := projectOf(r.GetProject())
	if err != nil {
		return nil, err
	}
	page, next, err := s.backend.ListSubscriptions(ctx, project, pageOf(r))
	subs := make([]*pubsubpb.Subscription, len(page))
	for i, sub := range page {
		subs[i] = pbSubscription(sub)
	}
	return &pubsubpb.ListSubscriptionsResponse{Subscriptions: subs, NextPageToken: next}, err
}

// UpdateSubscription changes the fields that the mask names.
func (s *subscriber) UpdateSubscription(ctx context.Context, r *pubsubpb.UpdateSubscriptionRequest) (*pubsubpb.Subscription, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription.name", r.GetSubscription().GetName())
	if err != nil {
		return nil, err
	}
	change, mask, err := subscriptionChange(name, r)
	if err != nil {
		return nil, s.unlessMissing(ctx, name, err)
	}
	updated, err := s.backend.UpdateSubscription(ctx, change, mask)
	return pbSubscription(updated), err
}

func subscriptionChange(name subscriptions.SubscriptionName, r *pubsubpb.UpdateSubscriptionRequest) (change subscriptions.Subscription, mask []string, err error) {
	if mask, err = maskOf(r.GetUpdateMask()); err != nil {
		return change, mask, err
	}
	for _, path := range mask {
		// Google's messages have no place for it, so that it would be taken away.
		if path == "postrider" || strings.HasPrefix(path, "postrider.") {
			return change, mask, subscriptions.Errorf(subscriptions.InvalidArgument, "updateMask: %s can be changed over REST alone", path)
		}
	}
	change, err = subscriptionOf(name, r.GetSubscription(), rules.Masked(mask))
	return change, mask, err
}

// DeleteSubscription deletes a subscription with its backlog.
func (s *subscriber) DeleteSubscription(ctx context.Context, r *pubsubpb.DeleteSubscriptionRequest) (*emptypb.Empty, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.backend.DeleteSubscription(ctx, name)
}

// ModifyPushConfig replaces the push configuration.
func (s *subscriber) ModifyPushConfig(ctx context.Context, r *pubsubpb.ModifyPushConfigRequest) (*emptypb.Empty, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.backend.ModifyPushConfig(ctx, name, pushOf(r.GetPushConfig()), r.GetPushConfig().GetAttributes())
}

// Pull hands out messages. gRPC ends ctx when the client goes; from then on nothing is leased for it.
func (s *subscriber) Pull(ctx context.Context, r *pubsubpb.PullRequest) (*pubsubpb.PullResponse, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 clients may still say it
	got, err := s.backend.Pull(ctx, name, int(r.GetMaxMessages()), r.GetReturnImmediately())
	return &pubsubpb.PullResponse{ReceivedMessages: pbReceived(got)}, err
}

// Acknowledge settles messages for good.
func (s *subscriber) Acknowledge(ctx context.Context, r *pubsubpb.AcknowledgeRequest) (*emptypb.Empty, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.backend.Acknowledge(ctx, name, r.GetAckIds())
}

// ModifyAckDeadline extends leases, or gives messages back.
func (s *subscriber) ModifyAckDeadline(ctx context.Context, r *pubsubpb.ModifyAckDeadlineRequest) (*emptypb.Empty, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.backend.ModifyAckDeadline(ctx, name, r.GetAckIds(), seconds(r.GetAckDeadlineSeconds()))
}

func (s *subscriber) unlessMissing(ctx context.Context, name subscriptions.SubscriptionName, err error) error {
	return rules.UnlessMissing(err, func() (subscriptions.Subscription, error) { return s.backend.GetSubscription(ctx, name) })
}
