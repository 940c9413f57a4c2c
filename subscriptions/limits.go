package subscriptions

import (
	"context"
	"fmt"
	"time"
)

// What comes to an end by itself is warned of before: subscriptions that are not
// used, messages that nobody acks. So are dead letters that have nowhere to go.

// ageNotice is the share of the retention from which on an unacked message's age
// is warned of.
const ageNotice = 0.8

// warnOf notes what a sweep says of a subscription.
func (s *Service) warnOf(ctx context.Context, sub Subscription, swept SweepResult) error {
	detail := ""
	if left, soon := sub.expires(swept.Unused); soon {
		detail = "on " + momentText(left)
	}
	s.warnings.set(ctx, expiresSoon, sub, detail)
	left, soon, err := s.dropsIn(ctx, sub, swept.OldestAge)
	if err != nil {
		return err
	}
	if detail = ""; soon {
		detail = "from " + momentText(left) + sub.unlessFiltered()
	}
	s.warnings.set(ctx, dropsSoon, sub, detail)
	return nil
}

// momentText is when so much will have passed: a warning outlasts the moment at
// which it was found.
func momentText(left time.Duration) string { return expiryTime(left).Format("2006-01-02T15:04Z") }

// unlessFiltered is what must be said of the age of a message that nobody has
// looked at.
func (s Subscription) unlessFiltered() string {
	if s.selects() {
		return ", unless the filter passes over them"
	}
	return ""
}

// dropsIn tells how long it is until the oldest unacked message outlives the
// retention, and whether that is to be warned of.
func (s *Service) dropsIn(ctx context.Context, sub Subscription, oldest time.Duration) (left time.Duration, soon bool, err error) {
	if oldest < noticed(sub.Retention) {
		return 0, false, nil
	}
	keep := sub.Retention
	t, err := s.directory.topic(ctx, sub.Topic)
	if err != nil && CodeOf(err) != NotFound {
		return 0, false, err
	}
	if err == nil && t.UID == sub.TopicUID {
		keep = max(keep, t.Retention)
	}
	return max(0, keep-oldest), oldest >= noticed(keep), nil
}

// noticed is the age from which on messages with this retention are warned of.
func noticed(retention time.Duration) time.Duration {
	return time.Duration(float64(retention) * ageNotice)
}

// ageLook is when to look again at a subscription so that the age of its
// messages is noticed before they are dropped, however short the retention is.
func ageLook(sub Subscription, oldest time.Duration) time.Duration {
	return max(noticed(sub.Retention)-oldest, sub.Retention/10)
}

// missesDeadLetterTopic tells whether dead letters have nowhere to go.
func (s *Service) missesDeadLetterTopic(ctx context.Context, sub Subscription) (bool, error) {
	if sub.DeadLetter == nil {
		return false, nil
	}
	_, err := s.directory.topic(ctx, sub.DeadLetter.Topic)
	if CodeOf(err) == NotFound {
		return true, nil
	}
	return false, err
}

// warnOfDeadLetters is missesDeadLetterTopic, and notes it.
func (s *Service) warnOfDeadLetters(ctx context.Context, sub Subscription) (missing bool, err error) {
	detail := ""
	if missing, err = s.missesDeadLetterTopic(ctx, sub); err != nil {
		return false, err
	}
	if missing {
		detail = sub.DeadLetter.Topic.String()
	}
	s.warnings.set(ctx, deadLetterTopicMissing, sub, detail)
	return missing, nil
}

// explainLimits finds out what there is to be warned of.
func (s *Service) explainLimits(ctx context.Context, sub Subscription, e *Explanation) error {
	unused, err := s.store.Unused(ctx, []Ref{sub.Ref()})
	if err != nil {
		return err
	}
	e.Unused = unused[0]
	left, soon := sub.expires(e.Unused)
	if sub.Expiration > 0 {
		e.Expires = expiryTime(left)
	}
	if soon {
		e.warn("the subscription is not used, and will be deleted on %s", momentText(left))
	}
	left, soon, err = s.dropsIn(ctx, sub, e.Stats.OldestAge)
	if err != nil {
		return err
	}
	if soon {
		e.warn("the oldest messages will outlive the retention, and be dropped from %s%s", momentText(left), sub.unlessFiltered())
	}
	missing, err := s.missesDeadLetterTopic(ctx, sub)
	if missing {
		e.DeadLetterTopic = sub.DeadLetter.Topic
		e.warn("the dead-letter topic %s does not exist: messages that have had all their attempts stay here, now %d", e.DeadLetterTopic, e.Stats.Dead)
	}
	return err
}

func (e *Explanation) warn(format string, args ...any) {
	e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
}
