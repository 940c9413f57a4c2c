package subscriptions

import (
	"context"
	"slices"
	"time"
)

// Acknowledge settles messages for good. A late or repeated ack id is no error.
// NOT_FOUND; INVALID_ARGUMENT for a malformed ack id or one of another
// subscription, in which case none takes effect.
//
// With exactly-once delivery an ack takes effect only while its lease lasts;
// repeated until the lease would have ended it is no error either. Ack ids that
// take no effect, also malformed ones and those of another subscription, are
// INVALID_ARGUMENT with an ErrorInfo that names each (AckIDFailure); the others
// take effect.
func (s *Service) Acknowledge(ctx context.Context, name SubscriptionName, ackIDs []string) error {
	return s.withReceipts(ctx, name, ackIDs, nil, func(ctx context.Context, sub Subscription, rs []Receipt) (missed Missed, err error) {
		if sub.ExactlyOnce {
			missed, err = s.store.Confirm(ctx, sub.Ref(), rs)
		} else {
			err = s.store.Acknowledge(ctx, sub.Ref(), rs)
		}
		if err == nil {
			s.windows.settled(sub.UID, missed.others(rs))
			s.observe(ctx, sub, Acked, missed.others(rs))
		}
		return missed, err
	})
}

// ModifyAckDeadline makes leases end d from now; 0 refuses the messages, which
// come again after the delay of the retry policy. Ack ids whose lease is over
// have no effect, which is an error with exactly-once delivery alone, as for
// Acknowledge. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) ModifyAckDeadline(ctx context.Context, name SubscriptionName, ackIDs []string, d time.Duration) error {
	valid := func() error {
		if d < 0 || d > MaxAckDeadline {
			return Errorf(InvalidArgument, "ackDeadlineSeconds: %.0f is out of range: it must be 0 to %.0f", d.Seconds(), MaxAckDeadline.Seconds())
		}
		return nil
	}
	return s.withReceipts(ctx, name, ackIDs, valid, func(ctx context.Context, sub Subscription, rs []Receipt) (missed Missed, err error) {
		if d > 0 {
			missed.Over, err = s.store.Extend(ctx, sub.Ref(), rs, d)
			if err == nil {
				s.windows.extended(sub.UID, missed.others(rs), d)
			}
			return missed, err
		}
		nacks := make([]Nack, len(rs))
		for i, r := range rs {
			nacks[i].Receipt = r
		}
		request := s.nackRequest(sub, nacks)
		request.Use = true
		missed.Over, err = s.store.Nack(ctx, request)
		if err == nil {
			s.observe(ctx, sub, Nacked, missed.others(rs))
			s.windows.returned(sub.UID, rs)
		}
		return missed, err
	})
}

// Release gives leases back as if they had never been: for an answer that did
// not reach its puller. It spends no attempt. NOT_FOUND, INVALID_ARGUMENT; ack
// ids whose lease is over have no effect, and that is no error.
func (s *Service) Release(ctx context.Context, name SubscriptionName, ackIDs []string) error {
	return s.withReceipts(ctx, name, ackIDs, nil, func(ctx context.Context, sub Subscription, rs []Receipt) (Missed, error) {
		releases := make([]Release, len(rs))
		for i, r := range rs {
			releases[i].Receipt = r
		}
		err := s.store.Release(ctx, sub.Ref(), releases)
		if err == nil {
			s.windows.returned(sub.UID, rs)
		}
		return Missed{}, err
	})
}

func (s *Service) nackRequest(sub Subscription, nacks []Nack) NackRequest {
	return NackRequest{Ref: sub.Ref(), Rules: sub.Rules(s.outstanding), Nacks: nacks, Jitter: jitter()}
}

// withReceipts runs a step with the receipts of ack ids. Nothing is outstanding
// of a detached subscription, so there the step is left out.
func (s *Service) withReceipts(ctx context.Context, name SubscriptionName, ackIDs []string, valid func() error, do func(context.Context, Subscription, []Receipt) (Missed, error)) error {
	if err := name.Validate(); err != nil {
		return err
	}
	return s.directory.withSubscription(ctx, name, func(sub Subscription) error {
		if valid != nil {
			if err := valid(); err != nil {
				return err
			}
		}
		rs, bad, err := receipts(sub, ackIDs)
		if err != nil {
			return err
		}
		missed := Missed{Over: rs}
		if !sub.Detached && len(rs) > 0 {
			ctx, cancel := step(ctx)
			defer cancel()
			if missed, err = do(ctx, sub, rs); err != nil {
				return err
			}
		}
		return ackIDFailures(sub, len(rs)+len(bad), bad, missed)
	})
}

// AckIDFailure says in an ErrorInfo why an ack id of a subscription with
// exactly-once delivery had no effect. The words are Google's, whose clients try
// the transient ones again.
type AckIDFailure string

const (
	// AckIDInvalid is for good: the lease is over, or the id was never one.
	AckIDInvalid AckIDFailure = "PERMANENT_FAILURE_INVALID_ACK_ID"
	// AckIDUnordered: an earlier message of the ordering key must be acked first.
	AckIDUnordered AckIDFailure = "TRANSIENT_FAILURE_UNORDERED_ACK_ID"
)

// AckIDFailureReason is the Reason of the ErrorInfo whose Metadata are ack ids
// and the AckIDFailure of each.
const AckIDFailureReason = "EXACTLY_ONCE_ACKID_FAILURE"

// ackIDFailures is the error for those of so many ack ids that had no effect.
// Without exactly-once delivery none matters.
func ackIDFailures(sub Subscription, all int, bad []string, missed Missed) error {
	failures := map[string]string{}
	for _, id := range bad {
		failures[id] = string(AckIDInvalid)
	}
	for _, r := range missed.Over {
		failures[encodeAckID(sub.UID, r)] = string(AckIDInvalid)
	}
	for _, r := range missed.Early {
		failures[encodeAckID(sub.UID, r)] = string(AckIDUnordered)
	}
	if !sub.ExactlyOnce || len(failures) == 0 {
		return nil
	}
	err := Errorf(InvalidArgument, "ackIds: %d of %d had no effect, since their leases are over, an earlier message of their ordering key is not acked, or they are no ack ids of %s; the details name them", len(failures), all, sub.Name)
	err.Info = &ErrorInfo{Reason: AckIDFailureReason, Metadata: failures}
	return err
}

// others are the receipts of rs that had an effect.
func (m Missed) others(rs []Receipt) []Receipt {
	if len(m.Over) == 0 && len(m.Early) == 0 {
		return rs
	}
	gone := map[Receipt]bool{}
	for _, r := range slices.Concat(m.Over, m.Early) {
		gone[r] = true
	}
	return slices.DeleteFunc(slices.Clone(rs), func(r Receipt) bool { return gone[r] })
}
