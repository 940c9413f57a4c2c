package web

import (
	"time"

	"postrider/subscriptions"
)

// severity says how soon somebody should look.
type severity int8

const (
	fine severity = iota
	note
	warning
	critical
)

// String is the word for it, which is also a class of the style sheet.
func (s severity) String() string {
	return [...]string{"fine", "note", "warning", "critical"}[s]
}

// What makes a backlog worth a look.
const (
	// behind is how old the oldest message of a growing backlog is when it counts: bursts are no news.
	behind = time.Minute
	// still is how old it is when nothing is taken at all.
	still = 10 * time.Minute
	// retentionShare is which part of the retention may have passed.
	retentionShare = 0.8
	// memoryShare is which part of a store's memory may be used.
	memoryShare = 0.8
	// trickle is a rate, in messages a second, that is as good as none.
	trickle = 0.005
)

// condition is the state of a subscription in a word, and how bad that is.
type condition struct {
	Word     string
	Severity severity
}

// conditionOf judges a subscription by what the overview knows.
func conditionOf(at time.Time, r subscriptions.SubscriptionReport) condition {
	sub, backlog := r.Subscription, r.Stats.Backlog()
	switch {
	case sub.Detached:
		return condition{"detached", note}
	case r.Measured.IsZero():
		return condition{"not measured yet", fine}
	case r.Breaker.Open:
		return condition{"breaker open", critical}
	case nearRetention(r):
		return condition{"about to lose messages", critical}
	case pressing(r):
		return condition{"asked to wait", warning}
	case blockedFor(at, r) > 0:
		return condition{"keys blocked", warning}
	case r.Buried > 0:
		return condition{"dead-lettering", warning}
	case backlog == 0 && sub.TopicDeleted:
		return condition{"topic deleted", note}
	case backlog == 0 && r.In < trickle:
		return condition{"idle", fine}
	case backlog == 0:
		return condition{"keeping up", fine}
	case growing(r):
		return condition{"growing", warning}
	case standing(r) && r.Stats.OldestAge >= still:
		return condition{"standing still", warning}
	case standing(r):
		return condition{"waiting", fine}
	case r.Drains < 0:
		return condition{"not draining", note}
	default:
		return condition{"draining", fine}
	}
}

// growing tells whether more comes than goes, and has for a while.
func growing(r subscriptions.SubscriptionReport) bool {
	return r.Drains < 0 && r.In-r.Out > trickle && r.Stats.Backlog() > 0 && r.Stats.OldestAge >= behind
}

// standing tells whether there is a backlog of which nothing goes.
func standing(r subscriptions.SubscriptionReport) bool {
	return r.Stats.Backlog() > 0 && r.Out < trickle
}

// retention is how long the subscription's messages are kept: its own time, or the topic's where that is longer.
func retention(r subscriptions.SubscriptionReport) time.Duration {
	return max(r.Subscription.Retention, r.Subscription.TopicRetention)
}

// nearRetention tells whether messages will soon be dropped unacked.
func nearRetention(r subscriptions.SubscriptionReport) bool {
	keep := retention(r)
	return keep > 0 && r.Stats.Backlog() > 0 && float64(r.Stats.OldestAge) >= retentionShare*float64(keep)
}
