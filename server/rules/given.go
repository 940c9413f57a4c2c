package rules

import (
	"time"

	"postrider/subscriptions"
)

// Retention is a messageRetentionDuration as it was given. Where there is none, the domain fills in for a subscription, and a
// topic has none.
func Retention(given *time.Duration) (time.Duration, error) {
	return positive("messageRetentionDuration", given, subscriptions.MinRetention)
}

// Expiration is a subscription's expirationPolicy: without one what the server says, with one that has no ttl never, which is 0 to
// the domain.
func Expiration(policy bool, ttl *time.Duration) (time.Duration, error) {
	if !policy {
		return subscriptions.ServerExpiration, nil
	}
	return positive("expirationPolicy.ttl", ttl, subscriptions.MinExpiration)
}

// DeadLetter is a dead-letter policy. It leaves a topic that is not named to the domain, since a change may be about the
// attempts alone.
func DeadLetter(topic string, attempts int) (*subscriptions.DeadLetterPolicy, error) {
	policy := &subscriptions.DeadLetterPolicy{MaxAttempts: attempts}
	if topic == "" {
		return policy, nil
	}
	name, err := subscriptions.ParseTopicName("deadLetterPolicy.deadLetterTopic", topic)
	policy.Topic = name
	return policy, err
}

// Push is a push configuration: nil when nothing is set. That there is no endpoint is left to the domain, since a change may be
// about the rest.
func Push(given subscriptions.PushConfig) *subscriptions.PushConfig {
	if given == (subscriptions.PushConfig{}) {
		return nil
	}
	return &given
}

// positive is a duration whose absence the domain knows as 0. So a 0 that is there, which is too short, is refused here, since
// it would pass as absent.
func positive(field string, given *time.Duration, least time.Duration) (time.Duration, error) {
	if given == nil {
		return 0, nil
	}
	if *given == 0 {
		return 0, subscriptions.Errorf(subscriptions.InvalidArgument, "%s: 0s is out of range: it must be at least %.0fs", field, least.Seconds())
	}
	return *given, nil
}
