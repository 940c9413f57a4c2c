package grpcapi

import (
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"postrider/server/rules"
	"postrider/subscriptions"
)

// newSubscriptionOf makes the domain's subscription of a creation.
func newSubscriptionOf(in *pubsubpb.Subscription) (subscriptions.Subscription, error) {
	name, err := newSubscriptionName(in)
	if err != nil {
		return subscriptions.Subscription{}, err
	}
	s, err := subscriptionOf(name, in, rules.EveryField)
	if err != nil {
		return subscriptions.Subscription{}, err
	}
	s.Ordered, s.Filter = in.GetEnableMessageOrdering(), in.GetFilter()
	s.Topic, err = subscriptions.ParseTopicName("topic", in.GetTopic())
	return s, err
}

// newSubscriptionName is the name of a subscription that is created. Without one it gets one in the project of its topic.
func newSubscriptionName(in *pubsubpb.Subscription) (subscriptions.SubscriptionName, error) {
	if in.GetName() != "" {
		return subscriptions.ParseSubscriptionName("name", in.GetName())
	}
	topic, err := subscriptions.ParseTopicName("topic", in.GetTopic())
	return subscriptions.NewSubscriptionName(topic.Project), err
}

// subscriptionOf makes the domain's subscription of the fields that a request is about, without the topic.
func subscriptionOf(name subscriptions.SubscriptionName, in *pubsubpb.Subscription, about rules.Fields) (s subscriptions.Subscription, err error) {
	if err := unbuiltOfSubscription(in).Refuse(about); err != nil {
		return s, err
	}
	s = subscriptions.Subscription{
		Name: name, AckDeadline: seconds(in.GetAckDeadlineSeconds()), Labels: in.GetLabels(),
		ExactlyOnce: in.GetEnableExactlyOnceDelivery(), RetainAcked: in.GetRetainAckedMessages(),
		Push: pushOf(in.GetPushConfig()), PushAttributes: in.GetPushConfig().GetAttributes(),
	}
	if about("retryPolicy") {
		if s.Retry, err = retryOf(in.GetRetryPolicy()); err != nil {
			return s, err
		}
	}
	if about("messageRetentionDuration") {
		if s.Retention, err = retentionOf(in.GetMessageRetentionDuration()); err != nil {
			return s, err
		}
	}
	if about("expirationPolicy") {
		ttl, err := durationOf("expirationPolicy.ttl", in.GetExpirationPolicy().GetTtl())
		if err != nil {
			return s, err
		}
		if s.Expiration, err = rules.Expiration(in.GetExpirationPolicy() != nil, ttl); err != nil {
			return s, err
		}
	}
	if p := in.GetDeadLetterPolicy(); p != nil && about("deadLetterPolicy") {
		s.DeadLetter, err = rules.DeadLetter(p.GetDeadLetterTopic(), int(p.GetMaxDeliveryAttempts()))
	}
	return s, err
}

func unbuiltOfSubscription(s *pubsubpb.Subscription) rules.UnbuiltOfSubscription {
	return rules.UnbuiltOfSubscription{
		BigqueryConfig:     filled(s.GetBigqueryConfig()),
		BigtableConfig:     filled(s.GetBigtableConfig()),
		CloudStorageConfig: filled(s.GetCloudStorageConfig()),
		MessageTransforms:  len(s.GetMessageTransforms()) > 0,
	}
}

func pushOf(p *pubsubpb.PushConfig) *subscriptions.PushConfig {
	given := subscriptions.PushConfig{Endpoint: p.GetPushEndpoint()}
	if t := p.GetOidcToken(); t != nil {
		given.Token = &subscriptions.OIDCToken{Email: t.GetServiceAccountEmail(), Audience: t.GetAudience()}
	}
	switch {
	case p.GetNoWrapper() != nil:
		given.Wrapper, given.WriteMetadata = subscriptions.NoWrapper, p.GetNoWrapper().GetWriteMetadata()
	case p.GetPubsubWrapper() != nil:
		given.Wrapper = subscriptions.PubsubWrapper
	}
	return rules.Push(given)
}

func retryOf(p *pubsubpb.RetryPolicy) (*subscriptions.RetryPolicy, error) {
	if p == nil {
		return nil, nil
	}
	minimum, err := durationOf("retryPolicy.minimumBackoff", p.GetMinimumBackoff())
	if err != nil {
		return nil, err
	}
	maximum, err := durationOf("retryPolicy.maximumBackoff", p.GetMaximumBackoff())
	return subscriptions.NewRetryPolicy(minimum, maximum), err
}

func pbSubscription(s subscriptions.Subscription) *pubsubpb.Subscription {
	out := &pubsubpb.Subscription{
		Name:                      s.Name.String(),
		Topic:                     s.Topic.String(),
		PushConfig:                pbPush(s),
		AckDeadlineSeconds:        int32(s.AckDeadline / time.Second),
		MessageRetentionDuration:  durationpb.New(s.Retention),
		RetainAckedMessages:       s.RetainAcked,
		Labels:                    s.Labels,
		ExpirationPolicy:          &pubsubpb.ExpirationPolicy{},
		Filter:                    s.Filter,
		EnableMessageOrdering:     s.Ordered,
		EnableExactlyOnceDelivery: s.ExactlyOnce,
		Detached:                  s.Detached,
		State:                     pubsubpb.Subscription_ACTIVE,
	}
	if s.TopicDeleted {
		out.Topic = subscriptions.DeletedTopic
	}
	if s.TopicRetention != 0 {
		out.TopicMessageRetentionDuration = durationpb.New(s.TopicRetention)
	}
	if s.Expiration != 0 {
		out.ExpirationPolicy.Ttl = durationpb.New(s.Expiration)
	}
	if p := s.DeadLetter; p != nil {
		out.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: p.Topic.String(), MaxDeliveryAttempts: int32(p.MaxAttempts)}
	}
	if p := s.Retry; p != nil {
		out.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(p.Minimum), MaximumBackoff: durationpb.New(p.Maximum)}
	}
	return out
}

// pbPush is nil for a subscription that never was push.
func pbPush(s subscriptions.Subscription) *pubsubpb.PushConfig {
	if s.Push == nil && len(s.PushAttributes) == 0 {
		return nil
	}
	p := &pubsubpb.PushConfig{Attributes: s.PushAttributes}
	if s.Push == nil {
		return p
	}
	p.PushEndpoint = s.Push.Endpoint
	if t := s.Push.Token; t != nil {
		p.AuthenticationMethod = &pubsubpb.PushConfig_OidcToken_{
			OidcToken: &pubsubpb.PushConfig_OidcToken{ServiceAccountEmail: t.Email, Audience: t.Audience},
		}
	}
	switch s.Push.Wrapper {
	case subscriptions.NoWrapper:
		p.Wrapper = &pubsubpb.PushConfig_NoWrapper_{NoWrapper: &pubsubpb.PushConfig_NoWrapper{WriteMetadata: s.Push.WriteMetadata}}
	case subscriptions.PubsubWrapper:
		p.Wrapper = &pubsubpb.PushConfig_PubsubWrapper_{PubsubWrapper: &pubsubpb.PushConfig_PubsubWrapper{}}
	}
	return p
}
