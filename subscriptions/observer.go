package subscriptions

import (
	"context"
	"time"
)

// Observer hears of what a server does for its callers: for counters and traces.
// Its methods may be called from any goroutine, and must not block.
type Observer interface {
	// Publishing is called with valid messages for a topic that exists. It returns
	// the messages to store, which are msgs or copies with more attributes, and
	// what to call when that is done; nil is nothing.
	Publishing(ctx context.Context, topic TopicName, msgs []Message) ([]Message, func(ids []MessageID, err error))
	// Leased is called with what was leased, some at least, and when it was asked
	// for.
	Leased(ctx context.Context, sub Subscription, at time.Time, ds []Delivery)
	// Settled is called with messages that were acked or nacked, some at least.
	Settled(ctx context.Context, sub Subscription, how Settled, rs []Receipt)
}

// Settled is how a lease ended.
type Settled string

// The ways in which a lease ends for a reason.
const (
	Acked  Settled = "ack"
	Nacked Settled = "nack"
)

// publish stores messages, and lets the observer know.
func (s *Service) publish(ctx context.Context, t Topic, msgs []Message) (ids []MessageID, err error) {
	if s.observer == nil {
		return s.store.Publish(ctx, t.Ref(), msgs)
	}
	msgs, done := s.observer.Publishing(ctx, t.Name, msgs)
	ids, err = s.store.Publish(ctx, t.Ref(), msgs)
	if done != nil {
		done(ids, err)
	}
	return ids, err
}

// leaseStep leases, and lets the observer know.
func (s *Service) leaseStep(ctx context.Context, sub Subscription, r LeaseRequest) (LeaseResult, error) {
	if s.observer == nil {
		return s.store.Lease(ctx, r)
	}
	at := time.Now()
	res, err := s.store.Lease(ctx, r)
	if err == nil && len(res.Deliveries) > 0 {
		s.observer.Leased(ctx, sub, at, res.Deliveries)
	}
	return res, err
}

// observe tells the observer of receipts.
func (s *Service) observe(ctx context.Context, sub Subscription, how Settled, rs []Receipt) {
	if s.observer != nil && len(rs) > 0 {
		s.observer.Settled(ctx, sub, how, rs)
	}
}

// observeSettlement tells the observer of what became of pushes.
func (s *Service) observeSettlement(ctx context.Context, sub Subscription, what Settlement) {
	if s.observer == nil {
		return
	}
	s.observe(ctx, sub, Acked, what.Acks)
	nacked := make([]Receipt, 0, len(what.Nacks)+len(what.Terminals))
	for _, n := range what.Nacks {
		nacked = append(nacked, n.Receipt)
	}
	for _, t := range what.Terminals {
		nacked = append(nacked, t.Delivery.Receipt())
	}
	s.observe(ctx, sub, Nacked, nacked)
}
