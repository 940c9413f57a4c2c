package server

import (
	"time"

	"postrider/server/api"
	"postrider/server/rules"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// newSubscriptionOf makes the domain's subscription of a creation.
func newSubscriptionOf(name subscriptions.SubscriptionName, in api.Subscription) (subscriptions.Subscription, error) {
	s, err := subscriptionOf(name, in, rules.EveryField)
	if err != nil {
		return subscriptions.Subscription{}, err
	}
	s.Ordered, s.Filter = in.EnableMessageOrdering, in.Filter
	s.Topic, err = subscriptions.ParseTopicName("topic", in.Topic)
	return s, err
}

// subscriptionOf makes the domain's subscription of the fields that a request is about, without the topic.
func subscriptionOf(name subscriptions.SubscriptionName, in api.Subscription, about rules.Fields) (s subscriptions.Subscription, err error) {
	if err := agree(in.Name, name); err != nil {
		return s, err
	}
	if err := unbuiltOfSubscription(in).Refuse(about); err != nil {
		return s, err
	}
	s = subscriptions.Subscription{
		Name: name, AckDeadline: seconds(in.AckDeadlineSeconds), Labels: in.Labels, ExactlyOnce: in.EnableExactlyOnceDelivery,
		RetainAcked: in.RetainAckedMessages,
	}
	s.Push, s.PushAttributes = pushOf(in.PushConfig)
	s.Retry = retryOf(in.RetryPolicy)
	if about("postrider") {
		if err := extend(&s, in.Postrider); err != nil {
			return s, err
		}
	}
	if about("messageRetentionDuration") {
		if s.Retention, err = rules.Retention(duration(in.MessageRetentionDuration)); err != nil {
			return s, err
		}
	}
	if about("expirationPolicy") {
		if s.Expiration, err = expirationOf(in.ExpirationPolicy); err != nil {
			return s, err
		}
	}
	if about("deadLetterPolicy") {
		s.DeadLetter, err = deadLetterOf(in.DeadLetterPolicy)
	}
	return s, err
}

func pushOf(p *api.PushConfig) (push *subscriptions.PushConfig, attributes map[string]string) {
	if p == nil {
		return nil, nil
	}
	given := subscriptions.PushConfig{Endpoint: p.PushEndpoint}
	if t := p.OidcToken; t != nil {
		given.Token = &subscriptions.OIDCToken{Email: t.ServiceAccountEmail, Audience: t.Audience}
	}
	switch {
	case p.NoWrapper != nil:
		given.Wrapper, given.WriteMetadata = subscriptions.NoWrapper, p.NoWrapper.WriteMetadata
	case p.PubsubWrapper != nil:
		given.Wrapper = subscriptions.PubsubWrapper
	}
	return rules.Push(given), p.Attributes
}

func retryOf(p *api.RetryPolicy) *subscriptions.RetryPolicy {
	if p == nil {
		return nil
	}
	return subscriptions.NewRetryPolicy(duration(p.MinimumBackoff), duration(p.MaximumBackoff))
}

func expirationOf(p *api.ExpirationPolicy) (time.Duration, error) {
	if p == nil {
		return rules.Expiration(false, nil)
	}
	return rules.Expiration(true, duration(p.TTL))
}

func deadLetterOf(p *api.DeadLetterPolicy) (*subscriptions.DeadLetterPolicy, error) {
	if p == nil {
		return nil, nil
	}
	return rules.DeadLetter(p.DeadLetterTopic, int(p.MaxDeliveryAttempts))
}

func apiSubscription(s subscriptions.Subscription) api.Subscription {
	out := api.Subscription{
		Name:                     s.Name.String(),
		Topic:                    s.Topic.String(),
		PushConfig:               apiPush(s),
		AckDeadlineSeconds:       wire.Int32(s.AckDeadline / time.Second),
		MessageRetentionDuration: wire.NewDuration(s.Retention),
		RetainAckedMessages:      s.RetainAcked,
		Labels:                   s.Labels,
		ExpirationPolicy:         &api.ExpirationPolicy{},
		Filter:                   s.Filter,
		EnableMessageOrdering:    s.Ordered,
		Detached:                 s.Detached,
		State:                    api.SubscriptionStateActive,
		Postrider:                apiExtensions(s),
	}
	out.EnableExactlyOnceDelivery = s.ExactlyOnce
	if s.TopicDeleted {
		out.Topic = subscriptions.DeletedTopic
	}
	if s.TopicRetention != 0 {
		out.TopicMessageRetentionDuration = wire.NewDuration(s.TopicRetention)
	}
	if s.Expiration != 0 {
		out.ExpirationPolicy.TTL = wire.NewDuration(s.Expiration)
	}
	if p := s.DeadLetter; p != nil {
		out.DeadLetterPolicy = &api.DeadLetterPolicy{DeadLetterTopic: p.Topic.String(), MaxDeliveryAttempts: wire.Int32(p.MaxAttempts)}
	}
	if p := s.Retry; p != nil {
		out.RetryPolicy = &api.RetryPolicy{MinimumBackoff: wire.NewDuration(p.Minimum), MaximumBackoff: wire.NewDuration(p.Maximum)}
	}
	return out
}

// apiPush is nil for a subscription that never was push.
func apiPush(s subscriptions.Subscription) *api.PushConfig {
	if s.Push == nil && len(s.PushAttributes) == 0 {
		return nil
	}
	p := &api.PushConfig{Attributes: s.PushAttributes}
	if s.Push == nil {
		return p
	}
	p.PushEndpoint = s.Push.Endpoint
	if t := s.Push.Token; t != nil {
		p.OidcToken = &api.OidcToken{ServiceAccountEmail: t.Email, Audience: t.Audience}
	}
	switch s.Push.Wrapper {
	case subscriptions.NoWrapper:
		p.NoWrapper = &api.NoWrapper{WriteMetadata: s.Push.WriteMetadata}
	case subscriptions.PubsubWrapper:
		p.PubsubWrapper = &api.PubsubWrapper{}
	}
	return p
}
