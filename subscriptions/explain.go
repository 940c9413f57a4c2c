package subscriptions

import (
	"context"
	"fmt"
	"time"
)

// Explanation says why nothing of a subscription is pushed now, or that
// something is: it is the same whatever server is asked.
type Explanation struct {
	// Summary is the first thing that stands in the way, in a sentence.
	Summary string
	// Owner is the server that pushes the subscription; empty if none is known, or
	// it is pulled.
	Owner   string
	Stats   Stats
	Breaker Breaker
	Limits  PushLimits
	// Push is what the owner says. Unless Answered it did not say so now: it is then
	// the last word of some owner, or the zero value.
	Push     PushReport
	Answered bool
	// DeadLetterTopic is that of the policy if it does not exist.
	DeadLetterTopic TopicName
	// Expires is when the subscription is deleted unless it is used before; zero is
	// never.
	Expires time.Time
	// Unused is for how long nobody has pulled from it, pushed it, settled a message
	// or changed it.
	Unused time.Duration
	// Warnings say what will go wrong, or does, whatever comes of the pushes: that it
	// expires soon, that messages will be dropped soon, that dead letters have
	// nowhere to go.
	Warnings []string
	// Blocked are ordering keys that wait for a message which failed, counted up to
	// MaxPageSize.
	Blocked int
}

// Explain tells why nothing of a subscription is pushed now. NOT_FOUND,
// INVALID_ARGUMENT.
func (s *Service) Explain(ctx context.Context, name SubscriptionName) (e Explanation, err error) {
	if err := name.Validate(); err != nil {
		return e, err
	}
	err = s.directory.withSubscription(ctx, name, func(sub Subscription) (err error) {
		e = Explanation{}
		if sub.Detached {
			e.Summary = "the subscription is detached: it gets no messages any more"
			return nil
		}
		if e.Stats, err = s.statsOf(ctx, sub); err != nil {
			return err
		}
		if err := s.explainLimits(ctx, sub, &e); err != nil {
			return err
		}
		if sub.Ordered {
			page, err := s.store.Blocked(ctx, BlocksRequest{Ref: sub.Ref(), Max: MaxPageSize})
			if err != nil {
				return err
			}
			e.Blocked = len(page.Blocks)
		}
		if sub.IsPush() {
			if err := s.explainPushes(ctx, sub, &e); err != nil {
				return err
			}
		}
		e.Summary = e.summary(sub, s.outstanding)
		return nil
	})
	return e, err
}

// explainPushes adds how pushes go.
func (s *Service) explainPushes(ctx context.Context, sub Subscription, e *Explanation) (err error) {
	e.Limits, e.Owner = sub.PushLimits, s.fleet.ownerOf(sub.UID)
	if e.Breaker, err = s.store.Breaker(ctx, sub.Ref()); err != nil {
		return err
	}
	if e.Owner == "" { // nobody to ask
		e.Push, err = s.store.PushReport(ctx, sub.Ref())
		return err
	}
	e.Push, e.Answered, err = s.askOwner(ctx, sub)
	return err
}

// ownerOf is the server that owns a subscription, as of the last heartbeat.
func (f *fleet) ownerOf(uid string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return ownerOf(uid, f.live)
}

func (e Explanation) summary(sub Subscription, most int) string {
	left := e.Stats.Undelivered + e.Stats.Outstanding
	switch {
	case !sub.IsPush():
		return fmt.Sprintf("the subscription is pulled, and was last used %s: messages that wait: %d, outstanding: %d", ago(e.Unused), e.Stats.Undelivered, e.Stats.Outstanding)
	case left == 0:
		return "there is nothing to push: no message waits"
	case e.Owner == "":
		return "no server that could push is known to be alive"
	case e.Breaker.Open:
		return "the circuit breaker of the endpoint is open, since too many messages in a row were refused: " + e.Breaker.next()
	case e.Stats.Dead == left && e.DeadLetterTopic.ID != "":
		return "all that is left has had all its attempts, and stays here since its dead-letter topic " + e.DeadLetterTopic.String() + " does not exist"
	case e.Stats.Dead == left:
		return "all that is left has had all its attempts, and waits to be moved to the dead-letter topic"
	case e.Stats.Outstanding >= int64(most):
		return fmt.Sprintf("%d messages are outstanding, which is as many as may be: one must be settled first", e.Stats.Outstanding)
	case e.Answered && e.Push.holdup() != "":
		return e.Push.holdup()
	case e.Stats.Undelivered == 0 && e.Blocked > 0:
		return "all that is left is with the endpoint or waits for its retry, or behind a message of its ordering key that failed"
	case e.Stats.Undelivered == 0:
		return "all that is left is with the endpoint, or waits for its retry"
	case !e.Answered:
		return "the store holds nothing up, and the server that pushes does not say how its pushes go"
	default:
		return fmt.Sprintf("nothing is held up: %d messages are with the endpoint", e.Push.InFlight)
	}
}

// ago is when something was, as people read it.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return seconds(d) + " ago"
}

// holdup is what keeps the owner from sending more, in a sentence; empty if nothing
// does.
func (r PushReport) holdup() string {
	backoff, retryAfter := r.Left(r.Backoff), r.Left(r.RetryAfter)
	switch {
	case retryAfter > 0 && retryAfter >= backoff:
		return "waits " + seconds(retryAfter) + " more: the endpoint asked for it with Retry-After"
	case backoff > 0:
		return "waits " + seconds(backoff) + " more, since most pushes were refused" + r.last()
	case r.Left(r.Paced) > 0:
		return "waits " + seconds(r.Left(r.Paced)) + " more: postrider.pushLimits.maxPerSecond allows no more"
	case r.Full:
		return "the server that pushes has as many pushes out, of all subscriptions, as it may"
	case r.InFlight >= r.Limit && r.HalfOpen:
		return fmt.Sprintf("%d messages are with the endpoint, which is as many as it gets until it has shown that it works again", r.InFlight)
	case r.InFlight >= r.Limit && r.Limit < r.Window:
		return fmt.Sprintf("%d messages are with the endpoint, which is as many as postrider.pushLimits.maxOutstanding allows", r.InFlight)
	case r.InFlight >= r.Limit:
		return fmt.Sprintf("%d messages are with the endpoint, which is as many as flow control lets go: it has to answer, or to answer faster", r.InFlight)
	}
	return ""
}

// last is the newest refusal.
func (r PushReport) last() string {
	if len(r.Errors) == 0 {
		return ""
	}
	return ": " + r.Errors[0].Line()
}

// seconds is a time to wait, as people read it.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func (b Breaker) next() string {
	if b.Probe < 50*time.Millisecond { // which would be in 0s
		return "a message is tried now"
	}
	return "a message is tried in " + seconds(b.Probe)
}
