package grpcapi

import (
	"errors"
	"sync"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"postrider/subscriptions"
)

// confirmations are what a client of a subscription with exactly-once delivery is still to be told of its acks and deadlines.
type confirmations struct {
	mu        sync.Mutex
	acks      *pubsubpb.StreamingPullResponse_AcknowledgeConfirmation
	deadlines *pubsubpb.StreamingPullResponse_ModifyAckDeadlineConfirmation
}

// take returns what is to be told now; nil for nothing.
func (c *confirmations) take() (*pubsubpb.StreamingPullResponse_AcknowledgeConfirmation, *pubsubpb.StreamingPullResponse_ModifyAckDeadlineConfirmation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	acks, deadlines := c.acks, c.deadlines
	c.acks, c.deadlines = nil, nil
	return acks, deadlines
}

// acked notes what became of acks.
func (c *confirmations) acked(o outcomes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acks == nil {
		c.acks = &pubsubpb.StreamingPullResponse_AcknowledgeConfirmation{}
	}
	c.acks.AckIds = append(c.acks.AckIds, o.done...)
	c.acks.InvalidAckIds = append(c.acks.InvalidAckIds, o.invalid...)
	c.acks.UnorderedAckIds = append(c.acks.UnorderedAckIds, o.unordered...)
	c.acks.TemporaryFailedAckIds = append(c.acks.TemporaryFailedAckIds, o.temporary...)
}

// modified notes what became of changes of deadlines.
func (c *confirmations) modified(o outcomes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deadlines == nil {
		c.deadlines = &pubsubpb.StreamingPullResponse_ModifyAckDeadlineConfirmation{}
	}
	c.deadlines.AckIds = append(c.deadlines.AckIds, o.done...)
	c.deadlines.InvalidAckIds = append(c.deadlines.InvalidAckIds, o.invalid...)
	c.deadlines.TemporaryFailedAckIds = append(c.deadlines.TemporaryFailedAckIds, o.temporary...)
}

// outcomes are the ack ids of a request by what became of them.
type outcomes struct{ done, invalid, unordered, temporary []string }

// outcomesOf sorts ack ids by what the error of their request says. What is no outcome of an ack id is returned as it is.
func outcomesOf(ackIDs []string, err error) (outcomes, error) {
	var o outcomes
	var e *subscriptions.Error
	switch {
	case err == nil:
		o.done = ackIDs
		return o, nil
	case !errors.As(err, &e):
		return o, err
	case e.Code == subscriptions.Unavailable:
		o.temporary = ackIDs
		return o, nil
	case e.Info == nil || e.Info.Reason != subscriptions.AckIDFailureReason:
		return o, err
	}
	for _, id := range ackIDs {
		switch subscriptions.AckIDFailure(e.Info.Metadata[id]) {
		case subscriptions.AckIDInvalid:
			o.invalid = append(o.invalid, id)
		case subscriptions.AckIDUnordered:
			o.unordered = append(o.unordered, id)
		default:
			o.done = append(o.done, id)
		}
	}
	return o, nil
}
