package web

import (
	"time"

	"postrider/subscriptions"
)

// stateOf is one sentence, sometimes a few, on how a subscription is.
func stateOf(at time.Time, r subscriptions.SubscriptionReport) []words {
	all := flowOf(at, r)
	if r.Buried > 0 && !r.Subscription.Detached {
		all = append(all, saying(at, " ", buriedWords(r), " in the last minutes.")...)
	}
	return all
}

// flowOf says how messages go.
func flowOf(at time.Time, r subscriptions.SubscriptionReport) []words {
	sub, age, backlog := r.Subscription, r.Stats.OldestAge, r.Stats.Backlog()
	wait := waiting(backlog)
	if r.Stats.UpperBound {
		wait = "at most " + wait
	}
	wait = sentence(wait)
	switch {
	case sub.Detached:
		return saying(at, "Detached from its topic: it gets no messages any more, and has dropped those it had.")
	case r.Breaker.Open:
		all := saying(at, "The endpoint "+hostOf(sub.Push.Endpoint)+" has refused everything for ", r.Breaker.Since, lastRefusal(r),
			": the circuit breaker is open, "+nextProbe(r)+". ")
		if backlog == 0 {
			return append(all, saying(at, "No message waits.")...)
		}
		return append(all, saying(at, wait+", the oldest for ", agePiece(age), ".")...)
	case backlog == 0 && sub.TopicDeleted:
		return saying(at, "Its topic is deleted, and everything that came from it is acknowledged.")
	case backlog == 0 && (r.Buried > 0 || r.In < trickle && len(r.Recent) < 2): // less than a minute is known
		return saying(at, "No message waits.")
	case backlog == 0 && r.In < trickle:
		return saying(at, "No message waits, and none has come in the last minute.")
	case backlog == 0:
		return saying(at, "Keeping up: "+rate(r.In)+" messages a second come, and nothing waits.")
	case sub.TopicDeleted:
		return saying(at, "Its topic is deleted: nothing new comes. ", wait+", the oldest for ", agePiece(age), ".")
	case nearRetention(r):
		return saying(at, wait+", the oldest for ", agePiece(age), "; what is older than "+span(retention(r))+" is dropped.")
	case growing(r):
		return saying(at, "The backlog grows by "+rate(r.In-r.Out)+" messages a second. ", wait+", the oldest for ", agePiece(age),
			", and it never drains at this rate.")
	case standing(r):
		return saying(at, wait+", the oldest for ", agePiece(age), ", and none has been acknowledged in the last minute.")
	case r.Drains > 0:
		return saying(at, wait+", the oldest for ", agePiece(age), "; at this rate the backlog is drained in "+span(r.Drains)+".")
	default:
		return saying(at, wait+", the oldest for ", agePiece(age), "; as many come as go.")
	}
}

// agePiece is an age, or a word for none, for a sentence.
func agePiece(age time.Duration) any {
	if age <= 0 {
		return "less than a second"
	}
	return age
}
