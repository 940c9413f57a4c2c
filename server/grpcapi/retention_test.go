package grpcapi_test

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// Retention of a topic, which its subscriptions show, and of what a subscription acked.
func TestRetention(t *testing.T) {
	run(t, func(r *rig) {
		hour := durationpb.New(time.Hour)
		r.is(must[*pubsubpb.Topic](r)(r.CreateTopic(r.ctx, &pubsubpb.Topic{Name: orders, MessageRetentionDuration: hour})),
			`{"name": "projects/p/topics/orders", "state": "ACTIVE", "messageRetentionDuration": "3600s"}`)
		created := must[*pubsubpb.Subscription](r)(r.CreateSubscription(r.ctx, &pubsubpb.Subscription{Name: billing, Topic: orders, RetainAckedMessages: true}))
		if !created.GetRetainAckedMessages() || created.GetTopicMessageRetentionDuration().AsDuration() != time.Hour {
			t.Errorf("created %v", created)
		}
		_, err := r.CreateTopic(r.ctx, &pubsubpb.Topic{Name: dead, MessageRetentionDuration: durationpb.New(time.Second)})
		r.refused(err, codes.InvalidArgument, "messageRetentionDuration:")
		updated := must[*pubsubpb.Topic](r)(r.UpdateTopic(r.ctx, &pubsubpb.UpdateTopicRequest{
			Topic: &pubsubpb.Topic{Name: orders}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"message_retention_duration"}},
		}))
		r.is(updated, `{"name": "projects/p/topics/orders", "state": "ACTIVE"}`)
	})
}
