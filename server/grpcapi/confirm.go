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

// add adds what became of the acks and deadlines of a request, and tells whether there is anything to be told.
func (c *confirmations) add(acks, changes outcomes) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !acks.empty() {
		if c.acks == nil {
			c.acks = &pubsubpb.StreamingPullResponse_AcknowledgeConfirmation{}
		}
		c.acks.AckIds = append(c.acks.AckIds, acks.done...)
		c.acks.InvalidAckIds = append(c.acks.InvalidAckIds, acks.invalid...)
		c.acks.UnorderedAckIds = append(c.acks.UnorderedAckIds, acks.unordered...)
		c.acks.TemporaryFailedAckIds = append(c.acks.TemporaryFailedAckIds, acks.temporary...)
	}
	if !changes.empty() {
		if c.deadlines == nil {
			c.deadlines = &pubsubpb.StreamingPullResponse_ModifyAckDeadlineConfirmation{}
		}
		c.deadlines.AckIds = append(c.deadlines.AckIds, changes.done...)
		c.deadlines.InvalidAckIds = append(c.deadlines.InvalidAckIds, changes.invalid...)
		c.deadlines.TemporaryFailedAckIds = append(c.deadlines.TemporaryFailedAckIds, changes.temporary...)
	}
	return !acks.empty() || !changes.empty()
}

// outcomes are ack ids by what became of them.
type outcomes struct{ done, invalid, unordered, temporary []string }

func (o outcomes) empty() bool {
	return len(o.done)+len(o.invalid)+len(o.unordered)+len(o.temporary) == 0
}

// sort adds ack ids by what the error of their call says. What says nothing of ack ids is returned as it is.
func (o *outcomes) sort(ackIDs []string, err error) error {
	var e *subscriptions.Error
	switch {
	case err == nil:
		o.done = append(o.done, ackIDs...)
		return nil
	case !errors.As(err, &e):
		return err
	case e.Code == subscriptions.Unavailable:
		o.temporary = append(o.temporary, ackIDs...)
		return nil
	case e.Info == nil || e.Info.Reason != subscriptions.AckIDFailureReason:
		return err
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
	return nil
}
