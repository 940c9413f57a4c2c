package subscriptions

import (
	"context"
	"time"
)

// Acknowledge settles messages for good. A late or repeated ack id is no error.
// NOT_FOUND; INVALID_ARGUMENT for a malformed ack id or one of another
// subscription, in which case none takes effect.
func (s *Service) Acknowledge(ctx context.Context, name SubscriptionName, ackIDs []string) error {
	return s.withReceipts(ctx, name, ackIDs, nil, func(ctx context.Context, sub Subscription, rs []Receipt) error {
		err := s.store.Acknowledge(ctx, sub.Ref(), rs)
		if err == nil {
			s.windows.settled(sub.UID, rs)
		}
		return err
	})
}

// ModifyAckDeadline makes leases end d from now; 0 refuses the messages, which
// come again after the delay of the retry policy. Ack ids whose lease is over
// have no effect. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) ModifyAckDeadline(ctx context.Context, name SubscriptionName, ackIDs []string, d time.Duration) error {
	valid := func() error {
		if d < 0 || d > MaxAckDeadline {
			return Errorf(InvalidArgument, "ackDeadlineSeconds: %.0f is out of range: it must be 0 to %.0f", d.Seconds(), MaxAckDeadline.Seconds())
		}
		return nil
	}
	return s.withReceipts(ctx, name, ackIDs, valid, func(ctx context.Context, sub Subscription, rs []Receipt) error {
		if d > 0 {
			err := s.store.Extend(ctx, sub.Ref(), rs, d)
			if err == nil {
				s.windows.extended(sub.UID, rs, d)
			}
			return err
		}
		nacks := make([]Nack, len(rs))
		for i, r := range rs {
			nacks[i].Receipt = r
		}
		err := s.store.Nack(ctx, s.nackRequest(sub, nacks))
		if err == nil {
			s.windows.returned(sub.UID, rs)
		}
		return err
	})
}

// Release gives leases back as if they had never been: for an answer that did
// not reach its puller. It spends no attempt. Otherwise as ModifyAckDeadline.
func (s *Service) Release(ctx context.Context, name SubscriptionName, ackIDs []string) error {
	return s.withReceipts(ctx, name, ackIDs, nil, func(ctx context.Context, sub Subscription, rs []Receipt) error {
		err := s.store.Release(ctx, sub.Ref(), rs)
		if err == nil {
			s.windows.returned(sub.UID, rs)
		}
		return err
	})
}

func (s *Service) nackRequest(sub Subscription, nacks []Nack) NackRequest {
	return NackRequest{Ref: sub.Ref(), Rules: sub.Rules(s.outstanding), Nacks: nacks, Jitter: jitter()}
}

// withReceipts runs a step with the receipts of ack ids. Nothing is outstanding
// of a detached subscription, so there the step is left out.
func (s *Service) withReceipts(ctx context.Context, name SubscriptionName, ackIDs []string, valid func() error, do func(context.Context, Subscription, []Receipt) error) error {
	if err := name.Validate(); err != nil {
		return err
	}
	return s.directory.withSubscription(ctx, name, func(sub Subscription) error {
		if valid != nil {
			if err := valid(); err != nil {
				return err
			}
		}
		rs, err := receipts(sub, ackIDs)
		if err != nil || sub.Detached {
			return err
		}
		ctx, cancel := step(ctx)
		defer cancel()
		return do(ctx, sub, rs)
	})
}
