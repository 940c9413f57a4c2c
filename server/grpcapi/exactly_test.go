package grpcapi_test

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A stream of a subscription with exactly-once delivery says so in each response, and what became of each ack id.
func TestStreamConfirms(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{EnableExactlyOnceDelivery: true})
		r.publish("a", "b", "c")
		s := r.open(&pubsubpb.StreamingPullRequest{})
		got := s.next(time.Second)
		if len(got.ReceivedMessages) != 3 || !got.SubscriptionProperties.ExactlyOnceDeliveryEnabled {
			t.Fatalf("got %v", got)
		}
		a, b, c := got.ReceivedMessages[0].AckId, got.ReceivedMessages[1].AckId, got.ReceivedMessages[2].AckId
		s.send(&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: []string{b, c, "none"}, ModifyDeadlineSeconds: []int32{30, 0, 30}})
		// What was refused may come before the confirmation, with it or after it.
		var confirmed *pubsubpb.StreamingPullResponse_ModifyAckDeadlineConfirmation
		var again []*pubsubpb.ReceivedMessage
		for response := s.next(time.Second); response != nil; response = s.next(time.Second) {
			again = append(again, response.GetReceivedMessages()...)
			if response.ModifyAckDeadlineConfirmation != nil {
				confirmed = response.ModifyAckDeadlineConfirmation
			}
		}
		if fmt.Sprint(confirmed.GetInvalidAckIds()) != "[none]" || len(confirmed.GetAckIds()) != 2 || len(confirmed.GetTemporaryFailedAckIds()) > 0 {
			t.Errorf("deadlines were confirmed as %v", confirmed)
		}
		if len(again) != 1 {
			t.Fatalf("what was refused came as %v", again)
		}
		s.send(&pubsubpb.StreamingPullRequest{AckIds: []string{a, c, b}})
		acks := s.next(time.Second).GetAcknowledgeConfirmation()
		if fmt.Sprint(acks.GetAckIds()) != fmt.Sprint([]string{a, b}) || fmt.Sprint(acks.GetInvalidAckIds()) != fmt.Sprint([]string{c}) ||
			len(acks.GetUnorderedAckIds())+len(acks.GetTemporaryFailedAckIds()) > 0 {
			t.Errorf("acks were confirmed as %v", acks)
		}
	})
}

// Without exactly-once delivery there is nothing to confirm.
func TestStreamConfirmsNothingOtherwise(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		r.publish("a")
		s := r.open(&pubsubpb.StreamingPullRequest{})
		id := s.next(time.Second).ReceivedMessages[0].AckId
		s.send(&pubsubpb.StreamingPullRequest{AckIds: []string{id, id}})
		if got := s.next(time.Minute); got != nil {
			t.Errorf("got %v", got)
		}
	})
}

// A call's error names the ack ids as REST's does.
func TestExactlyOnceErrorInfo(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{EnableExactlyOnceDelivery: true})
		_, err := r.Acknowledge(r.ctx, &pubsubpb.AcknowledgeRequest{Subscription: billing, AckIds: []string{"none"}})
		r.refused(err, codes.InvalidArgument, "1 of 1")
		for _, detail := range status.Convert(err).Details() {
			if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Reason == "EXACTLY_ONCE_ACKID_FAILURE" &&
				info.Domain == "pubsub.googleapis.com" && info.Metadata["none"] == "PERMANENT_FAILURE_INVALID_ACK_ID" {
				return
			}
		}
		t.Errorf("details are %v", status.Convert(err).Details())
	})
}
