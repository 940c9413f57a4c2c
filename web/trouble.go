package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

// recent is how old the last refusal may be to be named as what is wrong now.
const recent = 15 * time.Minute

// why is what came of an attempt that failed, in parentheses and with a space before; empty if nothing is known.
func why(f subscriptions.Failure) string {
	text := f.Reason
	if f.Status > 0 {
		text = strings.TrimSpace(strconv.Itoa(f.Status) + " " + http.StatusText(f.Status))
	}
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// lastRefusal is why for the last push that was refused.
func lastRefusal(r subscriptions.SubscriptionReport) string {
	if len(r.Push.Errors) == 0 {
		return ""
	}
	return why(r.Push.Errors[0].Failure)
}

// refusedLately says when a push was refused last, and why; nothing if that is long ago.
func refusedLately(r subscriptions.SubscriptionReport) []any {
	if len(r.Push.Errors) == 0 {
		return nil
	}
	age := r.Push.Ago(r.Push.Errors[0].Time)
	if age >= recent {
		return nil
	}
	return []any{", a push was refused ", age, " ago" + lastRefusal(r)}
}

// alone is how long the endpoint still asks to be left alone, 0 if nothing waits for that.
func alone(r subscriptions.SubscriptionReport) time.Duration {
	if r.Stats.Backlog() == 0 {
		return 0
	}
	return r.Push.Left(r.Push.RetryAfter)
}

// pressing tells whether a time that the endpoint asks for is long enough to be worth a word.
func pressing(r subscriptions.SubscriptionReport) bool {
	left := alone(r)
	return left >= behind || left > 0 && r.Stats.OldestAge >= behind
}

// blockedFor is how long an ordering key has been blocked, 0 if none has for long enough to be worth a word.
func blockedFor(at time.Time, r subscriptions.SubscriptionReport) time.Duration {
	if r.Blocked.Keys == 0 || at.Sub(r.Blocked.Since) < behind {
		return 0
	}
	return at.Sub(r.Blocked.Since)
}

// blockedKeys says how many there are, and leads to them.
func blockedKeys(r subscriptions.SubscriptionReport) words {
	text := plural(r.Blocked.Keys, "ordering key")
	if r.Blocked.More {
		text += " or more"
	}
	return words{Text: text, Link: subscriptionPath(r.Subscription.Name) + "#blocked-title"}
}

// blocked judges ordering keys that stand still. While a breaker is open all of them do.
func (a *attending) blocked(r subscriptions.SubscriptionReport, owner string) (severity, []words) {
	since := blockedFor(a.o.At, r)
	if since == 0 || r.Breaker.Open {
		return fine, nil
	}
	are := " are blocked, the first for "
	if r.Blocked.Keys == 1 {
		are = " is blocked for "
	}
	return warning, saying(a.o.At, ": ", blockedKeys(r), are, since, why(r.Blocked.Failed.Failure), owner)
}

// nextProbe says when an open breaker tries the endpoint again, and whether it asked for that.
func nextProbe(r subscriptions.SubscriptionReport) string {
	switch left := r.Push.Left(r.Push.RetryAfter); {
	case r.Breaker.Probe <= 0:
		return "probe due now"
	case left > 0 && left >= r.Breaker.Probe-time.Minute:
		return "next probe in " + span(r.Breaker.Probe) + ", as the endpoint asked (Retry-After)"
	default:
		return "next probe in " + span(r.Breaker.Probe)
	}
}
