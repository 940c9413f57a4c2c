package subscriptions

import "context"

// SweepOnce takes one step of the sweep of a subscription, with the moves that
// it calls for.
func (s *Service) SweepOnce(ctx context.Context, name SubscriptionName) error {
	sub, err := s.GetSubscription(ctx, name)
	if err != nil {
		return err
	}
	_, _, err = s.sweepOnce(ctx, sub, -1)
	return err
}

// Held is how many messages streams hold, those that closed among them, and for
// how many clients windows are kept.
func (s *Service) Held() (messages, clients int) {
	s.windows.mu.Lock()
	defer s.windows.mu.Unlock()
	return len(s.windows.holders), len(s.windows.left)
}

// WithAttempts is what makes a dead letter tell of its attempts.
func WithAttempts(d Delivery) Delivery { return d.withAttempts() }

// WorkOn works on an operation as its owner does, until it is done or a step fails.
func (s *Service) WorkOn(ctx context.Context, name OperationName) {
	op, err := s.store.Operation(ctx, name)
	if err == nil {
		_, _ = s.operator.workOn(ctx, op)
	}
}
