package subscriptions

import (
	"context"
	"time"
)

const (
	// MaxPullMessages is the most that one pull returns.
	MaxPullMessages = 1_000
	// maxPullBytes bounds an answer as Google's limit of a publish request does.
	maxPullBytes = MaxPublishBytes
	// pullWait is how long a pull waits for a first message.
	pullWait = 30 * time.Second
	// pullLook is how long one that must not wait goes through messages that do
	// not match. The next one goes on from there.
	pullLook = time.Second
)

// Received is a message as a puller gets it.
type Received struct {
	AckID   string
	Message Message
	// Attempt is 0 without a dead-letter policy.
	Attempt int
}

// Pull leases up to limit messages for the subscription's ack deadline. Without
// any it waits for the first one, unless immediate, and after some time
// answers with none, which is no error. NOT_FOUND, INVALID_ARGUMENT;
// FAILED_PRECONDITION for a push or detached subscription.
func (s *Service) Pull(ctx context.Context, name SubscriptionName, limit int, immediate bool) ([]Received, error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	got, sub, err := s.pullNow(ctx, name, limit)
	if err != nil || len(got) > 0 || immediate {
		return got, err
	}
	timeout := time.NewTimer(pullWait)
	defer timeout.Stop()
	for {
		// Join first, then lease: what comes between is not missed. The UID may
		// change with the next look, when the subscription was made anew.
		w, err := s.hub.join(ctx, sub.TopicUID, sub.UID)
		if err != nil {
			return nil, err
		}
		got, next, err := s.pullWaiting(ctx, w, name, limit, timeout.C)
		w.Leave()
		if err != nil || next.UID == sub.UID {
			return got, err
		}
		sub = next
	}
}

// pullWaiting leases whenever there may be something, until there is, or until
// the wait is over. It returns early when the name has come to mean another
// subscription than the one that w waits on.
func (s *Service) pullWaiting(ctx context.Context, w *Waiter, name SubscriptionName, limit int, timeout <-chan time.Time) ([]Received, Subscription, error) {
	more := false
	defer func() {
		if more {
			w.Pass()
		}
	}()
	for {
		res, sub, err := s.lease(ctx, name, limit)
		if err != nil {
			return nil, sub, err
		}
		more = res.More
		w.WakeIn(res.NextDue)
		if len(res.Deliveries) > 0 || sub.UID != w.sub {
			return received(sub, res.Deliveries), sub, nil
		}
		again := w.C
		if more { // what it saw of the log did not match, was parked or dropped
			again = atOnce
		}
		select {
		case <-again:
		case <-timeout:
			return nil, sub, nil
		case <-s.drain:
			return nil, sub, nil
		case <-ctx.Done():
			return nil, sub, canceled(ctx)
		}
	}
}

// atOnce is always ready.
var atOnce = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// pullNow leases what there is, in as many steps as limit needs.
func (s *Service) pullNow(ctx context.Context, name SubscriptionName, limit int) ([]Received, Subscription, error) {
	var all []Delivery
	var holder Subscription // of what is leased
	size, start := 0, time.Now()
	for {
		res, sub, err := s.lease(ctx, name, limit-len(all))
		switch {
		case len(all) == 0:
			holder = sub
		case ctx.Err() != nil:
			return nil, sub, firstError(s.release(ctx, holder, all), canceled(ctx))
		case sub.UID != holder.UID:
			// Made anew meanwhile: what this step leased is for the next call.
			return received(holder, all), holder, s.release(ctx, sub, res.Deliveries)
		case err != nil: // what is leased already goes to the caller
			return received(holder, all), holder, nil
		}
		if err != nil {
			return nil, sub, err
		}
		for _, d := range res.Deliveries {
			size += d.Message.Size()
		}
		all = append(all, res.Deliveries...)
		if len(res.Deliveries) == 0 && (len(all) > 0 || time.Since(start) >= pullLook || s.draining()) {
			return received(holder, all), holder, nil // what it has must not wait for what may lie far ahead
		}
		if !res.More || len(all) >= min(limit, MaxPullMessages) || size >= maxPullBytes/2 {
			return received(holder, all), holder, nil
		}
	}
}

// lease takes a step for a puller. What is leased for one who has gone
// meanwhile is released.
func (s *Service) lease(ctx context.Context, name SubscriptionName, limit int) (LeaseResult, Subscription, error) {
	var res LeaseResult
	var sub Subscription
	err := s.directory.withSubscription(ctx, name, func(current Subscription) (err error) {
		sub = current
		if err := pullable(sub, limit); err != nil {
			return err
		}
		step, cancel := step(ctx)
		defer cancel()
		res, err = s.leaseStep(step, sub, LeaseRequest{
			Ref: sub.Ref(), Rules: sub.Rules(s.outstanding),
			Max: min(limit, MaxPullMessages), MaxBytes: maxPullBytes / 2, Run: sub.run(),
			Deadline: sub.AckDeadline, Use: true, Jitter: jitter(),
		})
		return err
	})
	if err == nil && ctx.Err() != nil {
		return LeaseResult{}, sub, firstError(s.release(ctx, sub, res.Deliveries), canceled(ctx))
	}
	return res, sub, err
}

func pullable(sub Subscription, limit int) error {
	switch {
	case sub.Detached:
		return Errorf(FailedPrecondition, "%s is detached from its topic and cannot be pulled", sub.Name)
	case sub.IsPush():
		return Errorf(FailedPrecondition, "%s is a push subscription and cannot be pulled; an empty pushConfig makes it a pull subscription", sub.Name)
	case limit < 1:
		return Errorf(InvalidArgument, "maxMessages: %d is out of range: it must be at least 1", limit)
	}
	return nil
}

// release gives leases back as if they had never been.
func (s *Service) release(ctx context.Context, sub Subscription, ds []Delivery) error {
	if len(ds) == 0 {
		return nil
	}
	ctx, cancel := step(ctx)
	defer cancel()
	rs := make([]Release, len(ds))
	for i, d := range ds {
		rs[i].Receipt = d.Receipt()
	}
	return s.store.Release(ctx, sub.Ref(), rs)
}

// received makes what a puller sees of deliveries.
func received(sub Subscription, ds []Delivery) []Received {
	out := make([]Received, len(ds))
	for i, d := range ds {
		out[i] = Received{AckID: encodeAckID(sub.UID, d.Receipt()), Message: d.Message}
		if sub.DeadLetter != nil {
			out[i].Attempt = d.Attempt
		}
	}
	return out
}
