package server

import (
	"time"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// newSubscriptionOf makes the domain's subscription of a creation.
func newSubscriptionOf(name subscriptions.SubscriptionName, in api.Subscription) (subscriptions.Subscription, error) {
	if err := refuseUnbuilt(everyField, unbuiltAtCreation(in)); err != nil {
		return subscriptions.Subscription{}, err
	}
	s, err := subscriptionOf(name, in, everyField)
	if err != nil {
		return subscriptions.Subscription{}, err
	}
	s.Topic, err = subscriptions.ParseTopicName("topic", in.Topic)
	return s, err
}

// subscriptionOf makes the domain's subscription of the fields that a request is about, without the topic.
func subscriptionOf(name subscriptions.SubscriptionName, in api.Subscription, about fields) (s subscriptions.Subscription, err error) {
	if err := agree(in.Name, name); err != nil {
		return s, err
	}
	if err := refuseUnbuilt(about, unbuiltOfSubscription(in)); err != nil {
		return s, err
	}
	s = subscriptions.Subscription{Name: name, AckDeadline: seconds(in.AckDeadlineSeconds), Labels: in.Labels}
	s.Push, s.PushAttributes = pushOf(in.PushConfig)
	s.Retry = retryOf(in.RetryPolicy)
	if about("messageRetentionDuration") {
		if s.Retention, err = positive("messageRetentionDuration", in.MessageRetentionDuration, subscriptions.MinRetention); err != nil {
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

// pushOf is nil for a configuration without an endpoint: the subscription is pulled.
func pushOf(p *api.PushConfig) (push *subscriptions.PushConfig, attributes map[string]string) {
	if p == nil {
		return nil, nil
	}
	if p.PushEndpoint != "" {
		push = &subscriptions.PushConfig{Endpoint: p.PushEndpoint}
	}
	return push, p.Attributes
}

func retryOf(p *api.RetryPolicy) *subscriptions.RetryPolicy {
	if p == nil {
		return nil
	}
	return subscriptions.NewRetryPolicy(duration(p.MinimumBackoff), duration(p.MaximumBackoff))
}

// expirationOf: no policy means the default time, one without ttl never, which is 0 to the domain.
func expirationOf(p *api.ExpirationPolicy) (time.Duration, error) {
	if p == nil {
		return subscriptions.DefaultExpiration, nil
	}
	return positive("expirationPolicy.ttl", p.TTL, subscriptions.MinExpiration)
}

// deadLetterOf leaves a topic that is not named to the domain, since a change may be about the attempts alone.
func deadLetterOf(p *api.DeadLetterPolicy) (*subscriptions.DeadLetterPolicy, error) {
	if p == nil {
		return nil, nil
	}
	policy := &subscriptions.DeadLetterPolicy{MaxAttempts: int(p.MaxDeliveryAttempts)}
	if p.DeadLetterTopic == "" {
		return policy, nil
	}
	topic, err := subscriptions.ParseTopicName("deadLetterPolicy.deadLetterTopic", p.DeadLetterTopic)
	policy.Topic = topic
	return policy, err
}

func apiSubscription(s subscriptions.Subscription) api.Subscription {
	out := api.Subscription{
		Name:                     s.Name.String(),
		Topic:                    s.Topic.String(),
		PushConfig:               apiPush(s),
		AckDeadlineSeconds:       wire.Int32(s.AckDeadline / time.Second),
		MessageRetentionDuration: wire.NewDuration(s.Retention),
		Labels:                   s.Labels,
		ExpirationPolicy:         &api.ExpirationPolicy{},
		Detached:                 s.Detached,
		State:                    api.SubscriptionStateActive,
	}
	if s.TopicDeleted {
		out.Topic = subscriptions.DeletedTopic
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
	if s.Push != nil {
		p.PushEndpoint = s.Push.Endpoint
	}
	return p
}
