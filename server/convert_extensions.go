package server

import (
	"cmp"
	"reflect"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// What Postrider adds to a subscription stands in the object postrider. Its properties are the domain's to judge. expireTime is
// for answers alone.

// extend puts the object's properties into the domain's subscription.
func extend(s *subscriptions.Subscription, x *api.SubscriptionExtensions) error {
	if x == nil {
		return nil
	}
	s.ClientCertificate = x.ClientCertificate
	for i, given := range x.WebhookSecrets {
		secret := subscriptions.WebhookSecret(cmp.Or(given.Secret, given.Fingerprint))
		if given.Secret != "" && given.Fingerprint != "" && given.Fingerprint != secret.Fingerprint() {
			return subscriptions.Errorf(subscriptions.InvalidArgument, "postrider.webhookSecrets[%d]: the fingerprint is not that of the secret", i)
		}
		s.WebhookSecrets = append(s.WebhookSecrets, secret)
	}
	if t := x.TerminalAnswers; t != nil {
		s.Terminal.Header = t.Header
		for _, status := range t.Statuses {
			s.Terminal.Statuses = append(s.Terminal.Statuses, int(status))
		}
	}
	switch x.ExpiredMessages {
	case "", api.ExpiredMessagesUnspecified, api.ExpiredMessagesDrop:
	case api.ExpiredMessagesDeadLetter:
		s.DeadLetterLate = true
	default:
		return subscriptions.Errorf(subscriptions.InvalidArgument, "postrider.expiredMessages: must be DROP or DEAD_LETTER")
	}
	if l := x.PushLimits; l != nil {
		s.PushLimits = subscriptions.PushLimits{MaxOutstanding: int(l.MaxOutstanding), MaxPerSecond: l.MaxPerSecond}
	}
	if r := x.Routing; r != nil {
		s.Routing = &subscriptions.Routing{Attribute: r.Attribute, Pattern: r.Pattern}
	}
	return nil
}

// apiPushLimits is nil without any.
func apiPushLimits(l subscriptions.PushLimits) *api.PushLimits {
	if l == (subscriptions.PushLimits{}) {
		return nil
	}
	return &api.PushLimits{MaxOutstanding: wire.Int32(l.MaxOutstanding), MaxPerSecond: l.MaxPerSecond}
}

// apiExtensions is nil for a subscription that has none of ours, and does not expire soon.
func apiExtensions(s subscriptions.Subscription) *api.SubscriptionExtensions {
	x := &api.SubscriptionExtensions{ClientCertificate: s.ClientCertificate}
	for _, secret := range s.WebhookSecrets {
		x.WebhookSecrets = append(x.WebhookSecrets, api.WebhookSecret{Fingerprint: secret.Fingerprint()})
	}
	if t := s.Terminal; len(t.Statuses) > 0 || t.Header != "" {
		x.TerminalAnswers = &api.TerminalAnswers{Header: t.Header}
		for _, status := range t.Statuses {
			x.TerminalAnswers.Statuses = append(x.TerminalAnswers.Statuses, wire.Int32(status))
		}
	}
	if s.DeadLetterLate {
		x.ExpiredMessages = api.ExpiredMessagesDeadLetter
	}
	x.PushLimits = apiPushLimits(s.PushLimits)
	if r := s.Routing; r != nil {
		x.Routing = &api.Routing{Attribute: r.Attribute, Pattern: r.Pattern}
	}
	if !s.Expires.IsZero() {
		x.ExpireTime = wire.NewTimestamp(s.Expires)
	}
	if reflect.ValueOf(*x).IsZero() {
		return nil
	}
	return x
}
