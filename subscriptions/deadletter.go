package subscriptions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// moveBatch is how many messages are moved to a dead-letter topic at once.
	moveBatch = 100
	// moveHold is how long another server leaves messages alone that this one
	// has begun to move, and so how long a move waits that failed.
	moveHold = 30 * time.Second
)

// sweep looks after one subscription, and returns when to do so again, and
// whether it came to the end.
func (w *sweeper) sweep(ctx context.Context, sub Subscription, review bool) (next time.Duration, whole bool) {
	place := -1
	if review {
		place = 0
	}
	for {
		res, current, err := w.s.sweepOnce(ctx, sub, place)
		place = res.Review
		switch {
		case CodeOf(err) == NotFound:
			return slowDelay(), false // deleted; the fleet will say so
		case err != nil:
			w.s.logFailure(ctx, "sweep", sub.Name.String(), err)
			return sweepRetry, false
		case res.Unused >= current.Expiration && current.Expiration > 0:
			w.s.log.InfoContext(ctx, "subscription expired", "name", sub.Name.String(), "unused", res.Unused)
			w.s.logFailure(ctx, "delete an expired subscription", sub.Name.String(), w.s.DeleteSubscription(ctx, sub.Name))
			return slowDelay(), false
		case ctx.Err() != nil:
			return 0, false
		case res.More || place >= 0: // go on
		case current.DeadLetter != nil && res.NextDue >= 0:
			return min(res.NextDue, slowDelay(), ageLook(current, res.OldestAge)), true
		default:
			return min(slowDelay(), ageLook(current, res.OldestAge)), true
		}
	}
}

// sweepOnce takes one step, reviewing waiting messages from place on, and moves
// what it found dead.
func (s *Service) sweepOnce(ctx context.Context, owned Subscription, place int) (SweepResult, Subscription, error) {
	var res SweepResult
	var sub Subscription
	err := s.directory.withSubscription(ctx, owned.Name, func(current Subscription) (err error) {
		sub = current
		if sub.UID != owned.UID || sub.Detached {
			return subscriptionNotFound(owned.Name)
		}
		r := SweepRequest{
			Ref: sub.Ref(), Rules: sub.Rules(s.outstanding), Max: moveBatch, Hold: moveHold, Jitter: jitter(), Review: place,
		}
		missing, err := s.warnOfDeadLetters(ctx, sub)
		if err != nil {
			return err
		}
		if missing {
			r.Max = 0 // what is held could not be moved at once when the topic is there
		}
		res, err = s.store.Sweep(ctx, r)
		return err
	})
	if err == nil {
		s.logFailure(ctx, "look whether there is something to warn of", sub.Name.String(), s.warnOf(ctx, sub, res))
	}
	if err != nil || len(res.Dead) == 0 || sub.DeadLetter == nil {
		return res, sub, err
	}
	err = s.moveDead(ctx, sub, res.Dead)
	if outdated(err) || CodeOf(err) == NotFound {
		err = nil // revised or gone meanwhile, as the topic may be: the next sweep sees to it
	}
	return res, sub, err
}

// moveDead moves messages to the dead-letter topic, those that were redriven as
// often together: what a topic took of an earlier life of a message, and was not
// let forget, must not keep it from taking the message again.
func (s *Service) moveDead(ctx context.Context, sub Subscription, dead []Delivery) error {
	lives := map[int][]Delivery{}
	for _, d := range dead {
		lives[timesRedriven(d.Message)] = append(lives[timesRedriven(d.Message)], d)
	}
	for _, times := range slices.Sorted(maps.Keys(lives)) {
		source := sub.UID
		if times > 0 {
			source = fmt.Sprintf("%s#%d", sub.UID, times)
		}
		if err := s.moveLife(ctx, sub, source, lives[times]); err != nil {
			return err
		}
	}
	return nil
}

// moveLife moves messages to the dead-letter topic: append there, settle at the
// source, forget there. Each step may be repeated, by any server, so whatever
// happens in between a message is in one of the two and in the dead-letter
// topic once. NOT_FOUND while that topic does not exist: the messages stay.
func (s *Service) moveLife(ctx context.Context, sub Subscription, source string, dead []Delivery) error {
	letters, settled, ids := make([]Message, len(dead)), make([]Receipt, len(dead)), make([]MessageID, len(dead))
	for i, d := range dead {
		letters[i], settled[i], ids[i] = deadLetter(sub, d), d.Receipt(), d.Message.ID
	}
	var target string
	err := s.directory.withTopic(ctx, sub.DeadLetter.Topic, func(t Topic) error {
		target = t.UID
		return s.store.AppendDead(ctx, t.Ref(), source, letters, deadLetterRetention)
	})
	if err != nil {
		return err
	}
	if err := s.store.SettleDead(ctx, sub.Ref(), settled); err != nil {
		return err
	}
	if err := s.store.ForgetDead(ctx, target, source, ids); err != nil {
		// They have been moved. The topic forgets by itself in time; to report this
		// would have somebody move them again.
		s.logFailure(ctx, "let a dead-letter topic forget what it took", sub.Name.String(), err)
	}
	return nil
}
