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
	if fields["retainAckedMessages"] {
		sub.RetainAcked = change.RetainAcked
	}
	if fields["labels"] {
		sub.Labels = maps.Clone(change.Labels)
	}
	if fields["enableExactlyOnceDelivery"] {
		sub.ExactlyOnce = change.ExactlyOnce
	}
	if fields["expirationPolicy"] || fields["expirationPolicy.ttl"] {
		sub.Expiration = change.Expiration
	}
	sub.applyPushMask(change, fields)
	if err := sub.applyDeadLetterMask(change, fields); err != nil {
		return Subscription{}, err
	}
	sub.applyRetryMask(change, fields)
	return sub.withExtensions(change, fields)
}

// withNewExtensions checks the object postrider of a creation: there is nothing
// before it that it could refer to.
func (s Subscription) withNewExtensions() (Subscription, error) {
	given := s
	s.WebhookSecrets, s.ClientCertificate = nil, ""
	return s.withExtensions(given, map[string]bool{"postrider": true})
}

// withExtensions returns s with the masked fields of the object postrider.
func (s Subscription) withExtensions(change Subscription, fields map[string]bool) (_ Subscription, err error) {
	if fields["postrider"] {
		if err := s.keepsRouting(change); err != nil {
			return s, err
		}
	}
	masked := func(property string) bool { return fields["postrider"] || fields["postrider."+property] }
	if masked("clientCertificate") {
		s.ClientCertificate = change.ClientCertificate
	}
	if masked("webhookSecrets") {
		s.WebhookSecrets, err = resolveWebhookSecrets(change.WebhookSecrets, s.WebhookSecrets)
	}
	if masked("pushLimits") {
		s.PushLimits = change.PushLimits
		err = firstError(err, s.PushLimits.check())
	}
	if masked("expiredMessages") {
		s.DeadLetterLate = change.DeadLetterLate
	}
	if masked("terminalAnswers") {
		s.Terminal = change.Terminal
		err = firstError(err, s.Terminal.check())
	}
	return s, err
}

func (s *Subscription) applyPushMask(change Subscription, fields map[string]bool) {
	if fields["pushConfig"] {
		s.setPush(change.Push, change.PushAttributes)
		return
	}
	if fields["pushConfig.pushEndpoint"] {
		s.setEndpoint(orZero(change.Push).Endpoint)
	}
	if fields["pushConfig.attributes"] {
		s.PushAttributes = maps.Clone(change.PushAttributes)
	}
	s.applyTokenMask(orZero(change.Push), fields)
	s.applyWrapperMask(orZero(change.Push), fields)
}

// setEndpoint replaces the endpoint alone. Without one the subscription is
// pulled, and how it was pushed is forgotten.
func (s *Subscription) setEndpoint(endpoint string) {
	if endpoint == "" {
		s.setPush(nil, s.PushAttributes)
		return
	}
	push := orZero(s.Push)
	push.Endpoint = endpoint
	s.setPush(&push, s.PushAttributes)
}

// applyWrapperMask changes one of the two wrappers, which exclude one another: to
// take away the one that is not there changes nothing.
func (s *Subscription) applyWrapperMask(from PushConfig, fields map[string]bool) {
	push := orZero(s.Push)
	for field, wrapper := range map[string]Wrapper{"pushConfig.noWrapper": NoWrapper, "pushConfig.pubsubWrapper": PubsubWrapper} {
		if fields[field] && (from.Wrapper == wrapper || push.Wrapper == wrapper) {
			push.Wrapper, push.WriteMetadata = "", false
			if from.Wrapper == wrapper {
				push.Wrapper, push.WriteMetadata = wrapper, from.WriteMetadata
			}
		}
	}
	if fields["pushConfig.noWrapper.writeMetadata"] && (from.Wrapper == NoWrapper || push.Wrapper == NoWrapper) {
		push.Wrapper, push.WriteMetadata = NoWrapper, from.WriteMetadata
	}
	if push != orZero(s.Push) {
		s.setPush(&push, s.PushAttributes)
	}
}

// applyTokenMask changes what pushes claim, as a whole or a part of it.
func (s *Subscription) applyTokenMask(from PushConfig, fields map[string]bool) {
	email, audience := fields["pushConfig.oidcToken.serviceAccountEmail"], fields["pushConfig.oidcToken.audience"]
	push := orZero(s.Push)
	if fields["pushConfig.oidcToken"] {
		push.Token = clone(from.Token)
	} else if email || audience {
		token, given := orZero(push.Token), orZero(from.Token)
		if email {
			token.Email = given.Email
		}
		if audience {
			token.Audience = given.Audience
		}
		if push.Token = &token; token == (OIDCToken{}) {
			push.Token = nil
		}
	}
	if push != orZero(s.Push) {
		s.setPush(&push, s.PushAttributes)
	}
}

// setPush replaces the push configuration. A subscription that was push keeps
// the attribute that says in which version messages came, as Google's does.
func (s *Subscription) setPush(push *PushConfig, attributes map[string]string) {
	was := s.Push != nil || len(s.PushAttributes) > 0
	if push != nil && push.Endpoint == "" && push.Wrapper != NoWrapper && push.Token == nil {
		push = nil // what the other wrapper asks for is no setting of a pull subscription
	}
	s.Push, s.PushAttributes = clone(push), maps.Clone(attributes)
	if s.Push != nil {
		s.Push.Token = clone(s.Push.Token)
	}
	if (was || s.Push != nil) && len(s.PushAttributes) == 0 {
		s.PushAttributes = map[string]string{"x-goog-version": "v1"}
	}
}

func (s *Subscription) applyDeadLetterMask(change Subscription, fields map[string]bool) error {
	topic, attempts := fields["deadLetterPolicy.deadLetterTopic"], fields["deadLetterPolicy.maxDeliveryAttempts"]
	if fields["deadLetterPolicy"] {
		s.DeadLetter = clone(change.DeadLetter)
		return nil
	}
	if !topic && !attempts {
		return nil
	}
	// A field that the change leaves out goes back to its default.
	p, from := orZero(s.DeadLetter), orZero(change.DeadLetter)
	if topic {
		p.Topic = from.Topic
	}
	if attempts {
		p.MaxAttempts = from.MaxAttempts
	}
	if p.Topic == (TopicName{}) {
		return Errorf(InvalidArgument, "deadLetterPolicy.deadLetterTopic: a dead-letter policy needs a topic")
	}
	s.DeadLetter = &p
	return nil
}

func (s *Subscription) applyRetryMask(change Subscription, fields map[string]bool) {
	lower, upper := fields["retryPolicy.minimumBackoff"], fields["retryPolicy.maximumBackoff"]
	if fields["retryPolicy"] {
		s.Retry = clone(change.Retry)
		return
	}
	if !lower && !upper {
		return
	}
	p, from := *NewRetryPolicy(nil, nil), *NewRetryPolicy(nil, nil)
	if s.Retry != nil {
		p = *s.Retry
	}
	if change.Retry != nil {
		from = *change.Retry
	}
	if lower {
		p.Minimum = from.Minimum
	}
	if upper {
		p.Maximum = from.Maximum
	}
	s.Retry = &p
}

// clone copies what p points to; nil stays nil.
func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
