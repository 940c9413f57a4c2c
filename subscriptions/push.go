package subscriptions

import (
	"context"
	"slices"
	"time"
)

// pushLeaseMargin is how much longer the lease of a push is than the ack
// deadline that bounds its POST, so that the request has ended and its outcome
// is stored before the message can be leased again.
const pushLeaseMargin = 5 * time.Second

// PushLease is what a push worker got to send.
type PushLease struct {
	// Subscription is the configuration to push by, as of this lease.
	Subscription Subscription
	LeaseResult
	// Until is when every POST of this lease must have ended: the ack deadline
	// counted from before the lease was asked for.
	Until time.Time
}

// LeasePush leases up to limit messages for being pushed. NOT_FOUND;
// FAILED_PRECONDITION when the subscription is not, or no longer, push.
func (s *Service) LeasePush(ctx context.Context, name SubscriptionName, limit int) (PushLease, error) {
	var l PushLease
	err := s.directory.withSubscription(ctx, name, func(sub Subscription) (err error) {
		if sub.Detached || !sub.IsPush() {
			return Errorf(FailedPrecondition, "%s is not a push subscription", name)
		}
		step, cancel := step(ctx)
		defer cancel()
		l.Subscription, l.Until = sub, time.Now().Add(sub.AckDeadline)
		l.LeaseResult, err = s.leaseStep(step, sub, LeaseRequest{
			Ref: sub.Ref(), Rules: sub.Rules(s.outstanding),
			Max: limit, MaxBytes: maxPullBytes / 2, Run: sub.run(),
			Deadline: sub.AckDeadline + pushLeaseMargin, Jitter: jitter(),
		})
		return err
	})
	if err == nil && ctx.Err() != nil {
		return PushLease{}, firstError(s.release(ctx, l.Subscription, l.Deliveries), canceled(ctx))
	}
	return l, err
}

// Settlement says what became of leased messages.
type Settlement struct {
	Acks     []Receipt
	Nacks    []Nack
	Releases []Release
	// Terminals are refused for good.
	Terminals []Terminal
}

// Empty tells whether there is nothing to settle.
func (s Settlement) Empty() bool {
	return len(s.Acks) == 0 && len(s.Nacks) == 0 && len(s.Releases) == 0 && len(s.Terminals) == 0
}

// Settle settles messages that LeasePush leased of this subscription. When the
// subscription has gone meanwhile there is nothing to settle. Each kind is a
// step of its own and may be repeated. UNAVAILABLE.
func (s *Service) Settle(ctx context.Context, leased Subscription, what Settlement) error {
	err := s.directory.withSubscription(ctx, leased.Name, func(sub Subscription) error {
		if sub.UID != leased.UID || sub.Detached {
			return nil
		}
		ctx, cancel := step(ctx)
		defer cancel()
		if orZero(sub.Push).Endpoint != orZero(leased.Push).Endpoint {
			what.Nacks = withoutWait(what.Nacks)
		}
		if len(what.Acks) > 0 {
			if err := s.store.Acknowledge(ctx, sub.Ref(), what.Acks); err != nil {
				return err
			}
		}
		if len(what.Nacks) > 0 {
			if _, err := s.store.Nack(ctx, s.nackRequest(sub, what.Nacks)); err != nil {
				return err
			}
		}
		if len(what.Releases) > 0 {
			if err := s.store.Release(ctx, sub.Ref(), what.Releases); err != nil {
				return err
			}
		}
		if err := s.settleTerminal(ctx, sub, what.Terminals); err != nil {
			return err
		}
		s.observeSettlement(ctx, sub, what)
		return nil
	})
	if CodeOf(err) == NotFound {
		return nil
	}
	return err
}

// withoutWait leaves out what an endpoint asked for that is pushed to no more.
func withoutWait(nacks []Nack) []Nack {
	nacks = slices.Clone(nacks)
	for i := range nacks {
		nacks[i].AtLeast = 0
	}
	return nacks
}

// Wait starts waiting for messages of a subscription. When it returns, nothing
// that happens later is missed; lease once after it. Leave ends it.
func (s *Service) Wait(ctx context.Context, sub Subscription) (*Waiter, error) {
	return s.hub.join(ctx, sub.TopicUID, sub.UID)
}
