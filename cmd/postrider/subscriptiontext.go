package main

import (
	"fmt"
	"strings"
	"time"

	"postrider/server/api"
	"postrider/server/wire"
)

func (s *session) printSubscription(sub api.Subscription, err error) error {
	if err != nil {
		return err
	}
	return s.print.result(sub, func() error {
		return s.print.fields(
			"subscription", sub.Name, "topic", sub.Topic, "delivery", deliveryText(sub), "proof", proofText(sub), "order", orderText(sub), "acks", ackText(sub),
			"filter", sub.Filter, "routing", routingText(sub.Postrider),
			"ack deadline", fmt.Sprintf("%ds", sub.AckDeadlineSeconds),
			"retention", retentionText(sub), "expires", expirationText(sub),
			"retry", retryText(sub.RetryPolicy), "dead letters", deadLetterText(sub.DeadLetterPolicy), "expired messages", expiredText(sub.Postrider),
			"labels", mapText(sub.Labels), "state", string(sub.State))
	})
}

// expiredText says what becomes of messages whose time to live is over; nothing where they are dropped, as usual.
func expiredText(x *api.SubscriptionExtensions) string {
	if x == nil || x.ExpiredMessages != api.ExpiredMessagesDeadLetter {
		return ""
	}
	return "dead letters, too"
}

func routingText(x *api.SubscriptionExtensions) string {
	if x == nil || x.Routing == nil {
		return ""
	}
	return x.Routing.Pattern + " in " + x.Routing.Attribute
}

// retentionText says how long messages are kept. The topic's retention keeps every message for all subscriptions.
func retentionText(sub api.Subscription) string {
	text := durationText(sub.MessageRetentionDuration)
	if sub.RetainAckedMessages {
		text += ", acknowledged messages too"
	}
	if sub.TopicMessageRetentionDuration != nil {
		text += "; all messages of the topic " + durationText(sub.TopicMessageRetentionDuration)
	}
	return text
}

func deliveryText(sub api.Subscription) string {
	switch {
	case sub.Detached:
		return "detached"
	case sub.PushConfig != nil && sub.PushConfig.PushEndpoint != "":
		return wrapperText(sub.PushConfig) + " to " + sub.PushConfig.PushEndpoint
	}
	return "pull"
}

func wrapperText(p *api.PushConfig) string {
	switch {
	case p.NoWrapper == nil:
		return "push"
	case p.NoWrapper.WriteMetadata:
		return "push of data, with metadata in headers,"
	}
	return "push of data"
}

func orderText(sub api.Subscription) string {
	if sub.EnableMessageOrdering {
		return "by ordering key"
	}
	return ""
}

func ackText(sub api.Subscription) string {
	if sub.EnableExactlyOnceDelivery {
		return "exactly once"
	}
	return ""
}

func durationText(d *wire.Duration) string {
	if d == nil {
		return ""
	}
	return inDays(d.Duration())
}

// shortDuration is 10m for what Go writes as 10m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// roughly is how long something was, or will be, as people tell it: to the second, the minute, or the hour.
func roughly(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(0, d); {
	case d < time.Second:
		return shortDuration(d.Round(time.Millisecond))
	case d < time.Hour:
		return shortDuration(d.Round(time.Second))
	case d < 2*day:
		return shortDuration(d.Round(time.Minute))
	}
	d = d.Round(time.Hour)
	if d%day == 0 {
		return inDays(d)
	}
	return inDays(d-d%day) + " " + shortDuration(d%day)
}

func expirationText(sub api.Subscription) string {
	if sub.ExpirationPolicy == nil || sub.ExpirationPolicy.TTL == nil {
		return "never"
	}
	text := "after " + durationText(sub.ExpirationPolicy.TTL) + " without use"
	if x := sub.Postrider; x != nil && x.ExpireTime != nil {
		text += ": on " + x.ExpireTime.Format(time.RFC3339)
	}
	return text
}

func retryText(p *api.RetryPolicy) string {
	if p == nil {
		return "at once"
	}
	return "after " + durationText(p.MinimumBackoff) + " to " + durationText(p.MaximumBackoff)
}

func deadLetterText(p *api.DeadLetterPolicy) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("to %s after %d attempts", p.DeadLetterTopic, p.MaxDeliveryAttempts)
}
