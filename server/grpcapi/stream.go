package grpcapi

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"postrider/subscriptions"
)

// keepAliveDelay is how long after a client's keep-alive the answer goes out. Google's Go client notes the time of its own after
// having sent it, so that an answer that is there at once may count for none; it gives up after 15 s.
const keepAliveDelay = time.Second

// flow is a StreamingPull under way. The call's own goroutine sends; another one reads requests.
type flow struct {
	backend Backend
	rpc     pubsubpb.Subscriber_StreamingPullServer
	name    subscriptions.SubscriptionName
	stream  *subscriptions.Stream
	// answers tells that the client wants its keep-alives to be answered.
	answers bool
	// answer is the timer of an answer, which is due once keptAlive is set.
	answer    *time.Timer
	keptAlive atomic.Bool
	confirmed confirmations
	// over gets why no more requests come; nil when the client has closed its side.
	over chan error
}

// StreamingPull sends messages as they come, until the client closes its side.
func (s *subscriber) StreamingPull(rpc pubsubpb.Subscriber_StreamingPullServer) error {
	first, err := rpc.Recv()
	if err != nil {
		return unlessClosed(err)
	}
	name, err := subscriptions.ParseSubscriptionName("subscription", first.GetSubscription())
	if err != nil {
		return err
	}
	f := &flow{backend: s.backend, rpc: rpc, name: name, answers: first.GetProtocolVersion() >= 1, over: make(chan error, 1)}
	f.stream, err = s.backend.OpenStream(rpc.Context(), name, subscriptions.StreamOptions{
		AckDeadline: seconds(first.GetStreamAckDeadlineSeconds()),
		MaxMessages: first.GetMaxOutstandingMessages(),
		MaxBytes:    first.GetMaxOutstandingBytes(),
		Client:      first.GetClientId(),
	})
	if err != nil {
		return err
	}
	defer f.stream.Close()
	// The client learns at once that it is connected, however long the first message takes.
	if err := rpc.SendHeader(nil); err != nil {
		return err
	}
	if err := f.settle(first); err != nil {
		return err
	}
	f.answer = time.AfterFunc(time.Hour, func() {
		f.keptAlive.Store(true)
		f.stream.Interrupt()
	})
	f.answer.Stop()
	defer f.answer.Stop()
	s.receivers.Go(func() {
		f.over <- f.receive()
		f.stream.Interrupt()
	})
	return f.send()
}

// unlessClosed is nil when the client has closed its side.
func unlessClosed(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// send sends what is to be sent until the stream is over.
func (f *flow) send() error {
	for {
		got, err := f.stream.Next(f.rpc.Context())
		if err != nil {
			return err
		}
		select {
		case err := <-f.over:
			return errors.Join(err, f.unsent(got))
		default:
		}
		response := f.response(got)
		if len(got) == 0 && !f.keptAlive.Swap(false) && response.AcknowledgeConfirmation == nil && response.ModifyAckDeadlineConfirmation == nil {
			continue
		}
		if err := f.rpc.Send(response); err != nil {
			return errors.Join(err, f.unsent(got))
		}
	}
}

// response is a message to the client. The properties are in each: a client takes their absence for false.
func (f *flow) response(got []subscriptions.Received) *pubsubpb.StreamingPullResponse {
	sub := f.stream.Subscription()
	acks, deadlines := f.confirmed.take()
	return &pubsubpb.StreamingPullResponse{
		ReceivedMessages:              pbReceived(got),
		AcknowledgeConfirmation:       acks,
		ModifyAckDeadlineConfirmation: deadlines,
		SubscriptionProperties: &pubsubpb.StreamingPullResponse_SubscriptionProperties{
			ExactlyOnceDeliveryEnabled: sub.ExactlyOnce,
			MessageOrderingEnabled:     sub.Ordered,
		},
	}
}

// unsent gives messages back that the client did not get.
func (f *flow) unsent(got []subscriptions.Received) error {
	if len(got) == 0 {
		return nil
	}
	ids := make([]string, len(got))
	for i, m := range got {
		ids[i] = m.AckID
	}
	return f.backend.Release(context.WithoutCancel(f.rpc.Context()), f.name, ids)
}

// receive does what the client asks for, until it closes its side.
func (f *flow) receive() error {
	for {
		r, err := f.rpc.Recv()
		if err != nil {
			return unlessClosed(err)
		}
		if err := f.handle(r); err != nil {
			return err
		}
	}
}

// handle does what a request after the first asks for.
func (f *flow) handle(r *pubsubpb.StreamingPullRequest) error {
	for field, set := range map[string]bool{
		"subscription":           r.GetSubscription() != "",
		"maxOutstandingMessages": r.GetMaxOutstandingMessages() != 0,
		"maxOutstandingBytes":    r.GetMaxOutstandingBytes() != 0,
		"protocolVersion":        r.GetProtocolVersion() != 0,
	} {
		if set {
			return subscriptions.Errorf(subscriptions.InvalidArgument, "%s: only the first request of a stream may set it", field)
		}
	}
	if d := r.GetStreamAckDeadlineSeconds(); d != 0 {
		if err := f.stream.SetAckDeadline(seconds(d)); err != nil {
			return err
		}
	}
	if f.answers && len(r.GetAckIds()) == 0 && len(r.GetModifyDeadlineAckIds()) == 0 {
		f.answer.Reset(keepAliveDelay)
	}
	return f.settle(r)
}

// settle does what a request says about messages.
func (f *flow) settle(r *pubsubpb.StreamingPullRequest) error {
	deadlines, err := deadlinesOf(r)
	if err != nil {
		return err
	}
	ctx := f.rpc.Context()
	var acks, changes outcomes
	if ids := r.GetAckIds(); len(ids) > 0 {
		if err := f.take(&acks, ids, f.backend.Acknowledge(ctx, f.name, ids)); err != nil {
			return err
		}
	}
	for _, d := range deadlines {
		if err := f.take(&changes, d.ackIDs, f.backend.ModifyAckDeadline(ctx, f.name, d.ackIDs, d.after)); err != nil {
			return err
		}
	}
	if f.confirmed.add(acks, changes) {
		f.stream.Interrupt()
	}
	return nil
}

// take takes note of what became of ack ids, for a client that relies on them.
func (f *flow) take(o *outcomes, ackIDs []string, err error) error {
	var info *subscriptions.Error
	known := errors.As(err, &info) && info.Info != nil // though the stream has not yet seen that delivery is exactly-once now
	if !f.stream.Subscription().ExactlyOnce && !known {
		return err
	}
	return o.sort(ackIDs, err)
}

// deadline is what ack ids have in common.
type deadline struct {
	after  time.Duration
	ackIDs []string
}

// deadlinesOf reads the parallel lists of deadlines and ack ids. Of an ack id that comes more than once the last counts.
func deadlinesOf(r *pubsubpb.StreamingPullRequest) ([]deadline, error) {
	ids, values := r.GetModifyDeadlineAckIds(), r.GetModifyDeadlineSeconds()
	if len(ids) != len(values) {
		return nil, subscriptions.Errorf(subscriptions.InvalidArgument,
			"modifyDeadlineSeconds: there are %d for %d ack ids in modifyDeadlineAckIds", len(values), len(ids))
	}
	var out []deadline
	seen := map[string]bool{}
	for i, id := range slices.Backward(ids) {
		after := seconds(values[i])
		if after < 0 || after > subscriptions.MaxAckDeadline {
			return nil, subscriptions.Errorf(subscriptions.InvalidArgument, "modifyDeadlineSeconds[%d]: %d is out of range: it must be 0 to %.0f",
				i, values[i], subscriptions.MaxAckDeadline.Seconds())
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		at := slices.IndexFunc(out, func(d deadline) bool { return d.after == after })
		if at < 0 {
			at = len(out)
			out = append(out, deadline{after: after})
		}
		out[at].ackIDs = append(out[at].ackIDs, id)
	}
	return out, nil
}
