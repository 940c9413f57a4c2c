package subscriptions

import (
	"context"
	"fmt"
	"time"
)

// Explanation says why nothing of a subscription is pushed now, or that
// something is, as far as the store and the fleet know: it is the same whatever
// server is asked.
type Explanation struct {
	// Summary is the first thing that stands in the way, in a sentence.
	Summary string
	// Owner is the server that pushes the subscription; empty if none is known.
	Owner   string
	Stats   Stats
	Breaker Breaker
	// DeadLetterTopic is that of the policy if it does not exist.
	DeadLetterTopic TopicName
	// Expires is when the subscription is deleted unless it is used before; zero is
	// never.
	Expires time.Time
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
		if e.Breaker, err = s.store.Breaker(ctx, sub.Ref()); err != nil {
			return err
		}
		if sub.Ordered {
			page, err := s.store.Blocked(ctx, BlocksRequest{Ref: sub.Ref(), Max: MaxPageSize})
			if err != nil {
				return err
			}
			e.Blocked = len(page.Blocks)
		}
		e.Owner = s.fleet.ownerOf(sub.UID)
		e.Summary = e.summary(sub, s.outstanding)
		return nil
	})
	return e, err
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
		return "the subscription is pulled: nothing is pushed"
	case left == 0:
		return "there is nothing to push: every message is acknowledged"
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
	case e.Stats.Undelivered == 0 && e.Blocked > 0:
		return "all that is left is with the endpoint or waits for its retry, or behind a message of its ordering key that failed"
	case e.Stats.Undelivered == 0:
		return "all that is left is with the endpoint, or waits for its retry"
	default:
		return "the store holds nothing up: what is left waits for the flow control of the server that pushes, which pauses while the endpoint refuses, answers slowly or asks for time, and keeps to postrider.pushLimits"
	}
}

func (b Breaker) next() string {
	if b.Probe == 0 {
		return "a message is tried now"
	}
	return "a message is tried in " + b.Probe.Round(time.Second).String()
}
