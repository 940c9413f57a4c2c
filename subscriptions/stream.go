package subscriptions

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// maxStreamBytes bounds what one Next returns; a single message may be larger.
	maxStreamBytes = 1_000_000
	// Of a full window is asked so often what the subscriber, who may talk to other
	// servers, too, still holds: the more often, the more turns out to be settled.
	minAsk = 100 * time.Millisecond
	maxAsk = 5 * time.Second
	// askMax bounds what is asked of one window at once.
	askMax = 1_000
)

// StreamOptions is what a subscriber asks of a stream.
type StreamOptions struct {
	// AckDeadline is how long the leases of the stream's messages last.
	AckDeadline time.Duration
	// MaxMessages and MaxBytes bound what the subscriber holds: what was sent to
	// it, and is neither acked nor nacked, and its lease goes on. 0 or less is no
	// bound.
	MaxMessages, MaxBytes int64
	// Client, if there is one, tells this subscriber from others. What it holds of
	// a stream that it closed counts for its next one.
	Client string
}

// Stream is a flow of messages to one subscriber. Its methods but Next may be
// called at any time.
type Stream struct {
	s      *Service
	name   SubscriptionName
	waiter *Waiter
	window *window
	hungry bool // there may be something to lease

	ask       time.Duration // how long a window is full before the store is asked
	interrupt chan struct{}

	deadline atomic.Int64
	current  atomic.Pointer[Subscription]
}

// OpenStream starts a stream; Close ends it. NOT_FOUND; INVALID_ARGUMENT for the
// ack deadline; FAILED_PRECONDITION for a push or detached subscription.
func (s *Service) OpenStream(ctx context.Context, name SubscriptionName, o StreamOptions) (*Stream, error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	// The record may be an old one, but then the first lease finds that out.
	sub, err := s.directory.subscription(ctx, name)
	if err != nil {
		return nil, err
	}
	st := &Stream{s: s, name: name, hungry: true, ask: 4 * minAsk, interrupt: make(chan struct{}, 1)}
	if err := firstError(pullable(sub, 1), st.SetAckDeadline(o.AckDeadline)); err != nil {
		return nil, err
	}
	st.current.Store(&sub)
	if st.waiter, err = s.hub.join(ctx, sub.TopicUID, sub.UID); err != nil {
		return nil, err
	}
	st.window = s.windows.open(client{sub.UID, o.Client}, o.MaxMessages, o.MaxBytes)
	return st, nil
}

// Close ends the stream. Leases of what it returned stay.
func (st *Stream) Close() {
	st.waiter.Leave()
	st.window.close()
}

// Subscription is the subscription as the stream last saw it.
func (st *Stream) Subscription() Subscription { return *st.current.Load() }

// SetAckDeadline changes how long further leases last. INVALID_ARGUMENT.
func (st *Stream) SetAckDeadline(d time.Duration) error {
	if d < MinAckDeadline || d > MaxAckDeadline {
		return Errorf(InvalidArgument, "streamAckDeadlineSeconds: %.0f is out of range: it must be %.0f to %.0f", d.Seconds(), MinAckDeadline.Seconds(), MaxAckDeadline.Seconds())
	}
	st.deadline.Store(int64(d))
	return nil
}

// Interrupt lets a Next that waits return without messages, or else the next one.
func (st *Stream) Interrupt() { signal(st.interrupt) }

// Next waits for messages for which the subscriber has room, or for Interrupt. What cannot be sent
// is to be given to Release. NOT_FOUND; FAILED_PRECONDITION when the
// subscription has become push or detached; UNAVAILABLE also when the server
// drains: the subscriber should look for another one.
func (st *Stream) Next(ctx context.Context) ([]Received, error) {
	got, err := st.next(ctx)
	if err != nil && st.hungry {
		st.waiter.Pass() // it will not look on
	}
	return got, err
}

func (st *Stream) next(ctx context.Context) ([]Received, error) {
	for {
		if err := st.over(ctx); err != nil {
			return nil, err
		}
		messages, bytes := st.window.room()
		if messages > 0 && st.hungry {
			ds, err := st.lease(ctx, messages, bytes)
			if err != nil || len(ds) > 0 {
				return received(st.Subscription(), ds), err
			}
		}
		wait := st.waitForMessages
		if messages == 0 {
			wait = st.waitForRoom
		}
		if interrupted, err := wait(ctx); interrupted || err != nil {
			return nil, err
		}
	}
}

// over fails when there is no point in leasing.
func (st *Stream) over(ctx context.Context) error {
	select {
	case <-st.s.drain:
		return Errorf(Unavailable, "the server is stopping; connect again")
	case <-ctx.Done():
		return canceled(ctx)
	default:
		return nil
	}
}

func (st *Stream) waitForMessages(ctx context.Context) (interrupted bool, err error) {
	again := st.waiter.C
	if st.hungry {
		again = atOnce
	}
	select {
	case <-again:
		st.hungry = true
	case <-st.interrupt:
		return true, nil
	case <-st.s.drain:
	case <-ctx.Done():
	}
	return false, nil
}

// waitForRoom waits until a full window may have room. Meanwhile messages are
// for others.
func (st *Stream) waitForRoom(ctx context.Context) (interrupted bool, err error) {
	st.waiter.Pause()
	defer st.waiter.Resume()
	st.hungry = true
	others := st.s.fleet.others()
	wait := min(max(st.window.nextEnd(), minAsk), maxAsk) // by then there may be others
	if others {
		wait = min(wait, st.ask)
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	select {
	case <-st.window.freed:
	case <-end.C:
		if others {
			return false, st.askStore(ctx)
		}
		st.window.expire()
	case <-st.waiter.C:
		// The subscription changed, or this is a token from before.
		return false, st.changed(ctx)
	case <-st.interrupt:
		return true, nil
	case <-st.s.drain:
	case <-ctx.Done():
	}
	return false, nil
}

// askStore finds out what the subscriber still holds. It may ack and extend at
// other servers, of which this one hears nothing.
func (st *Stream) askStore(ctx context.Context) error {
	rs := st.window.oldest(askMax)
	var left []time.Duration
	err := st.s.directory.withSubscription(ctx, st.name, func(sub Subscription) (err error) {
		if err := st.look(sub); err != nil {
			return err
		}
		step, cancel := step(ctx)
		defer cancel()
		left, err = st.s.store.Remaining(step, sub.Ref(), rs)
		return err
	})
	if err != nil {
		return err
	}
	switch over := st.window.remaining(rs, left); {
	case over == 0:
		st.ask = min(2*st.ask, maxAsk)
	case 4*over >= len(rs):
		st.ask = max(st.ask/2, minAsk)
	}
	return nil
}

// changed fails when the subscription cannot be pulled any more.
func (st *Stream) changed(ctx context.Context) error {
	sub, err := st.s.directory.reloadSubscription(ctx, st.name)
	if err != nil {
		return err
	}
	return st.look(sub)
}

// look takes note of the subscription's record.
func (st *Stream) look(sub Subscription) error {
	if sub.UID != st.Subscription().UID { // deleted, and created anew
		return subscriptionNotFound(st.name)
	}
	st.current.Store(&sub)
	return pullable(sub, 1)
}

// lease takes a step.
func (st *Stream) lease(ctx context.Context, messages, bytes int) ([]Delivery, error) {
	var res LeaseResult
	deadline := time.Duration(st.deadline.Load())
	err := st.s.directory.withSubscription(ctx, st.name, func(sub Subscription) (err error) {
		if err := st.look(sub); err != nil {
			return err
		}
		step, cancel := step(ctx)
		defer cancel()
		res, err = st.s.leaseStep(step, sub, LeaseRequest{
			Ref: sub.Ref(), Rules: sub.Rules(st.s.outstanding),
			Max: messages, MaxBytes: bytes, Run: sub.run(), Deadline: deadline, Use: true, Jitter: jitter(),
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, firstError(st.s.release(ctx, st.Subscription(), res.Deliveries), canceled(ctx))
	}
	st.hungry = res.More
	if res.More && len(res.Deliveries) > 0 { // else it looks on itself
		st.waiter.Pass()
	}
	st.waiter.WakeIn(res.NextDue)
	rs := make([]Receipt, len(res.Deliveries))
	for i, d := range res.Deliveries {
		rs[i] = d.Receipt()
	}
	st.window.add(rs, time.Now().Add(deadline))
	return res.Deliveries, nil
}
