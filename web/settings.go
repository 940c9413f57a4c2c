package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

// setting is a line of a resource's configuration, in words.
type setting struct{ Name, Value, Link string }

// settingsOf are those of a subscription that say something: defaults that matter, and whatever is set.
func settingsOf(sub subscriptions.Subscription) []setting {
	topic := setting{"Topic", sub.Topic.String(), topicPath(sub.Topic)}
	if sub.TopicDeleted {
		topic = setting{Name: "Topic", Value: subscriptions.DeletedTopic}
	}
	all := []setting{
		topic,
		{Name: "Delivery", Value: delivery(sub)},
		{Name: "Ack deadline", Value: period(sub.AckDeadline)},
		{Name: "Unacknowledged messages are kept", Value: period(max(sub.Retention, sub.TopicRetention))},
		{Name: "Retries", Value: retries(sub.Retry)},
	}
	add := func(name, value string) {
		if value != "" {
			all = append(all, setting{Name: name, Value: value})
		}
	}
	if d := sub.DeadLetter; d != nil {
		all = append(all, setting{"Dead letters", fmt.Sprintf("after %d attempts to %s", d.MaxAttempts, d.Topic), topicPath(d.Topic)})
	} else {
		add("Dead letters", "none: messages are tried for as long as they are kept")
	}
	add("Filter", sub.Filter)
	if sub.Routing != nil {
		add("Routing", fmt.Sprintf("attribute %s: %s", sub.Routing.Attribute, sub.Routing.Pattern))
	}
	if sub.Ordered {
		add("Order", "messages of one ordering key come in the order of publication")
	}
	if sub.ExactlyOnce {
		add("Exactly once", "what is acknowledged in time never comes again")
	}
	if sub.RetainAcked {
		add("Acknowledged messages are kept", period(sub.Retention))
	}
	add("Expires", expiration(sub.Expiration))
	return append(append(all, pushSettings(sub)...), setting{Name: "Labels", Value: labels(sub.Labels)})
}

// pushSettings are those of the endpoint.
func pushSettings(sub subscriptions.Subscription) (all []setting) {
	if !sub.IsPush() {
		return nil
	}
	p := sub.Push
	if p.Wrapper == subscriptions.NoWrapper {
		body := "the data alone"
		if p.WriteMetadata {
			body += ", with the rest as headers"
		}
		all = append(all, setting{Name: "Body", Value: body})
	}
	if p.Token != nil {
		all = append(all, setting{Name: "Token", Value: "speaks for " + p.Token.Email})
	}
	if n := len(sub.WebhookSecrets); n > 0 {
		all = append(all, setting{Name: "Signatures", Value: plural(n, "webhook secret")})
	}
	if sub.ClientCertificate != "" {
		all = append(all, setting{Name: "Client certificate", Value: sub.ClientCertificate})
	}
	if n := sub.PushLimits.MaxOutstanding; n > 0 {
		all = append(all, setting{Name: "Pushes at once", Value: "at most " + count(n)})
	}
	if r := sub.PushLimits.MaxPerSecond; r > 0 {
		all = append(all, setting{Name: "Pushes a second", Value: "at most " + strconv.FormatFloat(r, 'g', -1, 64)})
	}
	if t := sub.Terminal; len(t.Statuses) > 0 || t.Header != "" {
		var what []string
		for _, s := range t.Statuses {
			what = append(what, strconv.Itoa(s))
		}
		if t.Header != "" {
			what = append(what, "header "+t.Header)
		}
		all = append(all, setting{Name: "Refused for good by", Value: strings.Join(what, ", ")})
	}
	return all
}

func delivery(sub subscriptions.Subscription) string {
	switch {
	case sub.Detached:
		return "none: detached"
	case sub.IsPush():
		return "push to " + redacted(sub.Push.Endpoint)
	default:
		return "pull"
	}
}

// redacted is an endpoint without a password.
func redacted(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Redacted()
}

func retries(r *subscriptions.RetryPolicy) string {
	if r == nil {
		return "at once"
	}
	return "after " + period(r.Minimum) + " to " + period(r.Maximum)
}

func expiration(d time.Duration) string {
	if d == 0 {
		return "never"
	}
	return "after " + period(d) + " without use"
}

// period is a length of time from a configuration, exactly.
func period(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		one  string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= u.unit && d%u.unit == 0 {
			return plural(int64(d/u.unit), u.one)
		}
	}
	return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) + " s"
}

func labels(m map[string]string) string {
	var all []string
	for k, v := range m {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
