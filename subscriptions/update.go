package subscriptions

import "maps"

// applySubscriptionMask returns sub with the masked fields of change. It shares
// nothing that can be changed with either.
func applySubscriptionMask(sub, change Subscription, mask []string) (Subscription, error) {
	fields, err := maskFields(mask, subscriptionFields)
	if err != nil {
		return Subscription{}, err
	}
	if fields["ackDeadlineSeconds"] {
		sub.AckDeadline = change.AckDeadline
	}
	if fields["messageRetentionDuration"] {
		sub.Retention = change.Retention
	}
	if fields["labels"] {
		sub.Labels = maps.Clone(change.Labels)
	}
	if fields["expirationPolicy"] || fields["expirationPolicy.ttl"] {
		sub.Expiration = change.Expiration
	}
	sub.applyPushMask(change, fields)
	if err := sub.applyDeadLetterMask(change, fields); err != nil {
		return Subscription{}, err
	}
	sub.applyRetryMask(change, fields)
	return sub, nil
}

func (s *Subscription) applyPushMask(change Subscription, fields map[string]bool) {
	switch {
	case fields["pushConfig"]:
		s.setPush(change.Push, change.PushAttributes)
	case fields["pushConfig.pushEndpoint"]:
		s.setPush(change.Push, s.PushAttributes)
	}
	if fields["pushConfig.attributes"] {
		s.PushAttributes = maps.Clone(change.PushAttributes)
	}
}

// setPush replaces the push configuration. A subscription that was push keeps
// the attribute that says in which version messages came, as Google's does.
func (s *Subscription) setPush(push *PushConfig, attributes map[string]string) {
	was := s.Push != nil
	s.Push, s.PushAttributes = nil, maps.Clone(attributes)
	if push != nil {
		p := *push
		s.Push = &p
	}
	if (was || s.Push != nil) && len(s.PushAttributes) == 0 {
		s.PushAttributes = map[string]string{"x-goog-version": "v1"}
	}
}

func (s *Subscription) applyDeadLetterMask(change Subscription, fields map[string]bool) error {
	topic, attempts := fields["deadLetterPolicy.deadLetterTopic"], fields["deadLetterPolicy.maxDeliveryAttempts"]
	if !fields["deadLetterPolicy"] && !topic && !attempts {
		return nil
	}
	if fields["deadLetterPolicy"] || change.DeadLetter == nil {
		s.DeadLetter = nil
		if change.DeadLetter != nil {
			p := *change.DeadLetter
			s.DeadLetter = &p
		}
		return nil
	}
	p := DeadLetterPolicy{}
	if s.DeadLetter != nil {
		p = *s.DeadLetter
	}
	if topic {
		p.Topic = change.DeadLetter.Topic
	}
	if attempts {
		p.MaxAttempts = change.DeadLetter.MaxAttempts
	}
	if p.Topic == (TopicName{}) {
		return Errorf(InvalidArgument, "deadLetterPolicy.deadLetterTopic: a dead-letter policy needs a topic")
	}
	s.DeadLetter = &p
	return nil
}

func (s *Subscription) applyRetryMask(change Subscription, fields map[string]bool) {
	lower, upper := fields["retryPolicy.minimumBackoff"], fields["retryPolicy.maximumBackoff"]
	if !fields["retryPolicy"] && !lower && !upper {
		return
	}
	if fields["retryPolicy"] || change.Retry == nil {
		s.Retry = nil
		if change.Retry != nil {
			p := *change.Retry
			s.Retry = &p
		}
		return
	}
	p := *NewRetryPolicy(nil, nil)
	if s.Retry != nil {
		p = *s.Retry
	}
	if lower {
		p.Minimum = change.Retry.Minimum
	}
	if upper {
		p.Maximum = change.Retry.Maximum
	}
	s.Retry = &p
}
