package grpcapi_test

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

// TestTimedMessages: the attributes by which messages come later, or for a time only, are the same over gRPC.
func TestTimedMessages(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		publish := func(attributes map[string]string) (*pubsubpb.PublishResponse, error) {
			return r.Publish(r.ctx, &pubsubpb.PublishRequest{Topic: orders, Messages: []*pubsubpb.PubsubMessage{{Data: []byte("x"), Attributes: attributes}}})
		}
		published := time.Now().UTC()
		ids := must[*pubsubpb.PublishResponse](r)(publish(map[string]string{"postrider-deliver-at": "60s", "postrider-ttl": "5"})).MessageIds
		time.Sleep(59 * time.Second)
		if got := r.pull(); len(got) != 0 {
			t.Errorf("pulled %v too early", got)
		}
		time.Sleep(2 * time.Second)
		got := r.pull()
		if len(got) != 1 || got[0].Message.MessageId != ids[0] || got[0].Message.PublishTime.AsTime() != published ||
			got[0].Message.Attributes["postrider-deliver-at"] != "60s" {
			t.Fatalf("published %v at %v, pulled %v", ids, published, got)
		}
		time.Sleep(15 * time.Second) // the lease ran out, and the time to live is over
		if again := r.pull(); len(again) != 0 {
			t.Errorf("pulled %v too late", again)
		}
		_, err := publish(map[string]string{"postrider-ttl": "1h"})
		r.refused(err, codes.InvalidArgument, "postrider-ttl")
	})
}
