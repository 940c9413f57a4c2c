package subscriptions

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a publish request and of a message.
const (
	MaxPublishMessages  = 1_000
	MaxPublishBytes     = 10_000_000
	MaxAttributes       = 100
	MaxAttributeKey     = 256
	MaxAttributeValue   = 1_024
	MaxOrderingKeyBytes = 1_024
	MaxLabels           = 64
	maxLabelRunes       = 63
)

// reservedAttributes is the prefix of our own attributes. An unknown one is
// refused, so that a typing error never passes silently.
const reservedAttributes = "postrider-"

// validatePublish checks a whole publish request.
func validatePublish(msgs []Message) error {
	if len(msgs) == 0 || len(msgs) > MaxPublishMessages {
		return Errorf(InvalidArgument, "messages: a request publishes 1 to %d messages, this one has %d", MaxPublishMessages, len(msgs))
	}
	total := 0
	for i, m := range msgs {
		if err := validateMessage(i, m); err != nil {
			return err
		}
		if m.OrderingKey != msgs[0].OrderingKey {
			return Errorf(InvalidArgument, "messages[%d].orderingKey: all messages of one request must have the same ordering key", i)
		}
		total += m.Size()
	}
	if total > MaxPublishBytes {
		return Errorf(InvalidArgument, "messages: data, attributes and ordering keys of one request may be %d bytes in all, this one has %d", MaxPublishBytes, total)
	}
	return nil
}

func validateMessage(i int, m Message) error {
	if len(m.Data) == 0 && len(m.Attributes) == 0 {
		return Errorf(InvalidArgument, "messages[%d]: data or at least one attribute is required", i)
	}
	if len(m.Attributes) > MaxAttributes {
		return Errorf(InvalidArgument, "messages[%d].attributes: at most %d attributes are allowed, this message has %d", i, MaxAttributes, len(m.Attributes))
	}
	if len(m.OrderingKey) > MaxOrderingKeyBytes {
		return Errorf(InvalidArgument, "messages[%d].orderingKey: at most %d bytes are allowed, this key has %d", i, MaxOrderingKeyBytes, len(m.OrderingKey))
	}
	if !utf8.ValidString(m.OrderingKey) {
		return Errorf(InvalidArgument, "messages[%d].orderingKey: must be valid UTF-8", i)
	}
	for k, v := range m.Attributes {
		if err := validateAttribute(i, k, v); err != nil {
			return err
		}
	}
	return nil
}

func validateAttribute(i int, k, v string) error {
	switch {
	case k == "":
		return Errorf(InvalidArgument, "messages[%d].attributes: a key must not be empty", i)
	case len(k) > MaxAttributeKey:
		return Errorf(InvalidArgument, "messages[%d].attributes: a key may have %d bytes, %q has %d", i, MaxAttributeKey, clip(k, 64), len(k))
	case len(v) > MaxAttributeValue:
		return Errorf(InvalidArgument, "messages[%d].attributes[%q]: a value may have %d bytes, this one has %d", i, k, MaxAttributeValue, len(v))
	case !utf8.ValidString(k) || !utf8.ValidString(v):
		return Errorf(InvalidArgument, "messages[%d].attributes[%q]: keys and values must be valid UTF-8", i, k)
	// Google's own clients publish their trace context under googclient_.
	case strings.HasPrefix(k, "goog") && !strings.HasPrefix(k, "googclient_"):
		return Errorf(InvalidArgument, "messages[%d].attributes[%q]: a key must not start with goog", i, k)
	case k == AttributeTTL, k == AttributeDeliverAt: // what they say is looked at by itself
	case strings.HasPrefix(k, reservedAttributes):
		return Errorf(InvalidArgument, "messages[%d].attributes[%q]: keys that start with %s are the server's own, and it knows none of this name", i, k, reservedAttributes)
	}
	return nil
}

func validateLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return Errorf(InvalidArgument, "labels: at most %d labels are allowed, there are %d", MaxLabels, len(labels))
	}
	for k, v := range labels {
		first, _ := utf8.DecodeRuneInString(k)
		if !legalLabel(k) || !unicode.IsLetter(first) {
			return Errorf(InvalidArgument, "labels: the key %q must be 1 to %d lower-case letters, digits, - and _, starting with a letter", clip(k, 64), maxLabelRunes)
		}
		if !legalLabel(v) {
			return Errorf(InvalidArgument, "labels[%q]: the value %q must be at most %d lower-case letters, digits, - and _", k, clip(v, 64), maxLabelRunes)
		}
	}
	return nil
}

func legalLabel(s string) bool {
	if !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxLabelRunes {
		return false
	}
	for _, r := range s {
		letter := unicode.IsLetter(r) && !unicode.IsUpper(r)
		if !letter && !unicode.IsDigit(r) && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

// complete fills in the defaults of a subscription and checks its limits.
func (s *Subscription) complete() error {
	if s.AckDeadline == 0 {
		s.AckDeadline = DefaultAckDeadline
	}
	if s.Retention == 0 {
		s.Retention = DefaultRetention
	}
	if s.AckDeadline < MinAckDeadline || s.AckDeadline > MaxAckDeadline {
		return Errorf(InvalidArgument, "ackDeadlineSeconds: %s is out of range: it must be 10 to 600 seconds, or 0 for the default of 10", s.AckDeadline)
	}
	if err := validateRetention(s.Retention); err != nil {
		return err
	}
	if s.Expiration != 0 && s.Expiration < MinExpiration {
		return Errorf(InvalidArgument, "expirationPolicy.ttl: %s is out of range: it must be at least 86400s (1 day); leave ttl out for never", s.Expiration)
	}
	_, err := NewMatch(s.Filter, s.Routing)
	return firstError(err, validateLabels(s.Labels), s.completeDeadLetter(), s.validateTerminal(), s.validateRetry(), s.validatePush())
}

func validateRetention(d time.Duration) error {
	if d < MinRetention || d > MaxRetention {
		return Errorf(InvalidArgument, "messageRetentionDuration: %s is out of range: it must be 600s (10 minutes) to 2678400s (31 days)", d)
	}
	return nil
}

func (s *Subscription) completeDeadLetter() error {
	p := s.DeadLetter
	if p == nil {
		return nil
	}
	if p.MaxAttempts == 0 {
		p.MaxAttempts = DefaultMaxAttempts
	}
	if p.MaxAttempts < MinMaxAttempts || p.MaxAttempts > MaxMaxAttempts {
		return Errorf(InvalidArgument, "deadLetterPolicy.maxDeliveryAttempts: %d is out of range: it must be %d to %d, or 0 for the default of %d", p.MaxAttempts, MinMaxAttempts, MaxMaxAttempts, DefaultMaxAttempts)
	}
	return nil
}

func (s *Subscription) validateRetry() error {
	if s.Retry == nil {
		return nil
	}
	for field, d := range map[string]time.Duration{"minimumBackoff": s.Retry.Minimum, "maximumBackoff": s.Retry.Maximum} {
		if d < 0 || d > MaxBackoff {
			return Errorf(InvalidArgument, "retryPolicy.%s: %s is out of range: it must be 0s to 600s", field, d)
		}
	}
	if s.Retry.Minimum > s.Retry.Maximum {
		return Errorf(InvalidArgument, "retryPolicy: minimumBackoff %s is greater than maximumBackoff %s (the defaults are 10s and 600s)", s.Retry.Minimum, s.Retry.Maximum)
	}
	return nil
}

// maxEndpointBytes bounds a push endpoint's URL.
const maxEndpointBytes = 8192

func (s *Subscription) validatePush() error {
	for k, v := range s.PushAttributes {
		if k != "x-goog-version" {
			return Errorf(InvalidArgument, "pushConfig.attributes: %q is not known: the only attribute is x-goog-version", clip(k, 64))
		}
		if v != "v1" {
			return Errorf(InvalidArgument, "pushConfig.attributes[\"x-goog-version\"]: %q is not supported: the only version is v1", clip(v, 64))
		}
	}
	if s.Push == nil {
		return nil
	}
	if s.ExactlyOnce {
		return Errorf(InvalidArgument, "enableExactlyOnceDelivery: only a pull subscription can have it, and pushConfig makes this one a push subscription")
	}
	if s.Push.Endpoint == "" && s.Push.Token != nil {
		return Errorf(InvalidArgument, "pushConfig.oidcToken: there is no pushConfig.pushEndpoint for which to sign")
	}
	if s.Push.Endpoint == "" {
		return Errorf(InvalidArgument, "pushConfig.noWrapper: is about pushes, and there is no pushConfig.pushEndpoint")
	}
	u, err := url.Parse(s.Push.Endpoint)
	if err != nil || len(s.Push.Endpoint) > maxEndpointBytes || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Fragment != "" || u.Opaque != "" || !legalPort(u) {
		// The URL itself may hold a token, so it is not repeated here.
		return Errorf(InvalidArgument, "pushConfig.pushEndpoint: must be an absolute http or https URL without a fragment, such as https://example.com/push, of at most %d bytes, with a port, if any, of 1 to 65535", maxEndpointBytes)
	}
	if s.ClientCertificate != "" && u.Scheme != "https" {
		return Errorf(InvalidArgument, "postrider.clientCertificate: is shown over https alone, and pushConfig.pushEndpoint is an http URL")
	}
	return s.Push.validateToken(u)
}

// maxTokenEmail and maxTokenAudience bound what a token claims.
const (
	maxTokenEmail    = 254
	maxTokenAudience = 2048
)

func (p *PushConfig) validateToken(endpoint *url.URL) error {
	if p.Token == nil {
		return nil
	}
	name, domain, ok := strings.Cut(p.Token.Email, "@")
	if !ok || name == "" || domain == "" || len(p.Token.Email) > maxTokenEmail || strings.ContainsFunc(p.Token.Email, notVisible) {
		return Errorf(InvalidArgument, "pushConfig.oidcToken.serviceAccountEmail: must have the form of an e-mail address, such as pusher@example.com, of at most %d ASCII characters", maxTokenEmail)
	}
	if len(p.Token.Audience) > maxTokenAudience || !utf8.ValidString(p.Token.Audience) || strings.ContainsFunc(p.Token.Audience, unicode.IsControl) {
		return Errorf(InvalidArgument, "pushConfig.oidcToken.audience: must be at most %d bytes of text", maxTokenAudience)
	}
	if endpoint.User != nil {
		return Errorf(InvalidArgument, "pushConfig.oidcToken: the user information in pushConfig.pushEndpoint takes the header Authorization as well: leave one of them out")
	}
	return nil
}

// notVisible tells whether r is no visible character of ASCII.
func notVisible(r rune) bool { return r <= ' ' || r > '~' }

// legalPort tells whether a port that the URL names can be dialled; package url takes any digits.
func legalPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
