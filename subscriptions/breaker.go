package subscriptions

import (
	"context"
	"time"
)

// Breaker is what the owner of a push subscription keeps in the store while the
// circuit breaker of its endpoint is open, for the next owner.
type Breaker struct {
	Open bool
	// Endpoint tells whose it is: another endpoint starts afresh. At most 64 bytes.
	Endpoint string
	// Since is how long it has been open, and Probe how long until the endpoint is
	// tried again, 0 if that may be any moment.
	Since, Probe time.Duration
	// Probes is how often that failed.
	Probes int
	// OpenTime and ProbeTime are the same as times, by the store's clock. Stores set
	// them.
	OpenTime, ProbeTime time.Time
}

// Breakers keeps the state of open circuit breakers beside that of their
// subscriptions.
type Breakers interface {
	// Breaker returns what is kept: the zero value unless it is open.
	Breaker(context.Context, Ref) (Breaker, error)
	// KeepBreaker keeps an open breaker. One that has Probes only replaces what is
	// kept, and kept is false when that was closed meanwhile; of the same endpoint it
	// is open since the same time.
	KeepBreaker(ctx context.Context, ref Ref, b Breaker) (kept bool, err error)
	// CloseBreaker forgets it and wakes who waits on the subscription. It tells
	// whether one was open.
	CloseBreaker(context.Context, Ref) (was bool, err error)
}

// PushBreaker returns the circuit breaker that is kept of a subscription.
func (s *Service) PushBreaker(ctx context.Context, sub Subscription) (b Breaker, err error) {
	err = s.ofSame(ctx, sub, func(sub Subscription) (err error) {
		b, err = s.store.Breaker(ctx, sub.Ref())
		return err
	})
	return b, err
}

// KeepPushBreaker keeps a subscription's circuit breaker, or that it is closed.
// kept is false when it was closed by hand meanwhile.
func (s *Service) KeepPushBreaker(ctx context.Context, sub Subscription, b Breaker) (kept bool, err error) {
	err = s.ofSame(ctx, sub, func(sub Subscription) (err error) {
		ctx, cancel := step(ctx)
		defer cancel()
		if kept = true; b.Open {
			kept, err = s.store.KeepBreaker(ctx, sub.Ref(), b)
		} else {
			_, err = s.store.CloseBreaker(ctx, sub.Ref())
		}
		return err
	})
	return kept, err
}

// ClosePushBreaker closes the circuit breaker of a push subscription's endpoint,
// whatever server owns it, and tells whether it was open. What waits since the
// endpoint asked for it with Retry-After waits no longer than its retry policy
// says. NOT_FOUND;
// FAILED_PRECONDITION when the subscription is not push.
func (s *Service) ClosePushBreaker(ctx context.Context, name SubscriptionName) (was bool, err error) {
	if err := name.Validate(); err != nil {
		return false, err
	}
	err = s.directory.withSubscription(ctx, name, func(sub Subscription) (err error) {
		if err := sub.mustBePushed(); err != nil {
			return err
		}
		open, err := s.store.CloseBreaker(ctx, sub.Ref())
		if err != nil {
			return err
		}
		was = was || open
		s.noteUse(ctx, sub)
		return s.hasten(ctx, sub)
	})
	return was, err
}

func (s Subscription) mustBePushed() error {
	if s.Detached || !s.IsPush() {
		return Errorf(FailedPrecondition, "%s is not a push subscription", s.Name)
	}
	return nil
}

// ofSame runs a step on the state of this very subscription. Where it has gone,
// or another has its name, there is nothing to do.
func (s *Service) ofSame(ctx context.Context, sub Subscription, do func(Subscription) error) error {
	err := s.directory.withSubscription(ctx, sub.Name, func(found Subscription) error {
		if found.UID != sub.UID || found.Detached {
			return nil
		}
		return do(found)
	})
	if CodeOf(err) == NotFound {
		return nil
	}
	return err
}
