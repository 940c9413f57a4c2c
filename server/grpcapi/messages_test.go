package grpcapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
)

func TestPublishPullAckNack(t *testing.T) {
	run(t, func(r *rig) {
		r.topic(dead)
		r.subscribe(&pubsubpb.Subscription{DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: dead}})
		ids := must[*pubsubpb.PublishResponse](r)(r.Publish(r.ctx, &pubsubpb.PublishRequest{Topic: orders, Messages: []*pubsubpb.PubsubMessage{
			{Data: []byte("first"), Attributes: map[string]string{"k": "v"}, OrderingKey: "o"},
			{Attributes: map[string]string{"only": "attributes"}, OrderingKey: "o"},
		}})).MessageIds
		got := r.pull()
		if len(got) != 2 || got[0].Message.MessageId != ids[0] || got[1].Message.MessageId != ids[1] {
			t.Fatalf("published %v, pulled %v", ids, got)
		}
		first := got[0].Message
		if string(first.Data) != "first" || first.Attributes["k"] != "v" || first.OrderingKey != "o" || got[0].DeliveryAttempt != 1 ||
			first.PublishTime.AsTime() != time.Now().UTC() {
			t.Errorf("pulled %v", got[0])
		}
		_, err := r.Acknowledge(r.ctx, &pubsubpb.AcknowledgeRequest{Subscription: billing, AckIds: ackIDs(got[:1])})
		r.must(err)
		modify := &pubsubpb.ModifyAckDeadlineRequest{Subscription: billing, AckIds: ackIDs(got[1:]), AckDeadlineSeconds: 60}
		_, err = r.ModifyAckDeadline(r.ctx, modify)
		r.must(err)
		time.Sleep(59 * time.Second)
		if again := r.pull(); len(again) != 0 {
			t.Errorf("pulled %v under a lease", again)
		}
		modify.AckDeadlineSeconds = 0
		_, err = r.ModifyAckDeadline(r.ctx, modify)
		r.must(err)
		if again := r.pull(); len(again) != 1 || again[0].DeliveryAttempt != 2 || again[0].Message.MessageId != ids[1] {
			t.Errorf("after the nack: %v", again)
		}
	})
}

func TestPullWaits(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		time.AfterFunc(10*time.Second, func() { r.publish("late") })
		request := &pubsubpb.PullRequest{Subscription: billing, MaxMessages: 10}
		if got := must[*pubsubpb.PullResponse](r)(r.Pull(r.ctx, request)).ReceivedMessages; texts(got) != "late" {
			t.Errorf("pulled %v", got)
		}
		ctx, cancel := context.WithTimeout(r.ctx, 5*time.Second)
		defer cancel()
		_, err := r.Pull(ctx, request)
		r.refused(err, codes.DeadlineExceeded)
		time.AfterFunc(time.Second, r.service.Drain)
		if got := must[*pubsubpb.PullResponse](r)(r.Pull(r.ctx, request)).ReceivedMessages; len(got) != 0 {
			t.Errorf("pulled %v", got)
		}
	})
}

func TestRefusedMessages(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		for name, c := range map[string]struct {
			request *pubsubpb.PublishRequest
			code    codes.Code
			words   string
		}{
			"no topic":      {&pubsubpb.PublishRequest{}, codes.InvalidArgument, "topic:"},
			"missing topic": {&pubsubpb.PublishRequest{Topic: dead}, codes.NotFound, dead},
			"no messages":   {&pubsubpb.PublishRequest{Topic: orders}, codes.InvalidArgument, "messages"},
			"nil message":   {&pubsubpb.PublishRequest{Topic: orders, Messages: []*pubsubpb.PubsubMessage{nil}}, codes.InvalidArgument, "messages[0]"},
			"keys differ": {&pubsubpb.PublishRequest{Topic: orders, Messages: []*pubsubpb.PubsubMessage{
				{Data: []byte("a"), OrderingKey: "a"}, {Data: []byte("b"), OrderingKey: "b"},
			}}, codes.InvalidArgument, "orderingKey"},
			"too large": {&pubsubpb.PublishRequest{Topic: orders, Messages: []*pubsubpb.PubsubMessage{
				{Data: make([]byte, 6_000_000)}, {Data: make([]byte, 6_000_000)},
			}}, codes.InvalidArgument, "10000000 bytes"},
		} {
			_, err := r.Publish(r.ctx, c.request)
			r.refused(err, c.code, c.words)
			if err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		_, err := r.Acknowledge(r.ctx, &pubsubpb.AcknowledgeRequest{Subscription: billing, AckIds: []string{"nonsense"}})
		r.refused(err, codes.InvalidArgument, "ackIds[0]")
		_, err = r.ModifyAckDeadline(r.ctx, &pubsubpb.ModifyAckDeadlineRequest{Subscription: billing, AckDeadlineSeconds: 601})
		r.refused(err, codes.InvalidArgument, "601")
		_, err = r.Pull(r.ctx, &pubsubpb.PullRequest{Subscription: billing})
		r.refused(err, codes.InvalidArgument, "maxMessages")
		_, err = r.Pull(r.ctx, &pubsubpb.PullRequest{Subscription: billing + "x", MaxMessages: 1})
		r.refused(err, codes.NotFound, billing+"x")
	})
}

// The largest legal publish passes, compressed or not, and so does its answer.
func TestLargestMessages(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		for n, option := range map[int]grpc.CallOption{1: grpc.UseCompressor(gzip.Name), 4: grpc.EmptyCallOption{}} {
			request := &pubsubpb.PublishRequest{Topic: orders}
			for range n {
				request.Messages = append(request.Messages, &pubsubpb.PubsubMessage{Data: []byte(strings.Repeat("x", 10_000_000/n))})
			}
			must[*pubsubpb.PublishResponse](r)(r.Publish(r.ctx, request, option))
			for left := n; left > 0; {
				got := r.pull()
				left -= len(got)
				r.ack(got...)
			}
		}
	})
}
