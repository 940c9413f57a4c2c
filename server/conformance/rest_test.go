package conformance

import (
	"encoding/json"
	"testing"

	pubsub "google.golang.org/api/pubsub/v1"

	"postrider/server/wire"
)

// TestReadsGooglesRESTTypes checks that we read what Google's REST client writes, and it what we write.
func TestReadsGooglesRESTTypes(t *testing.T) {
	cases := []struct {
		name string
		sent any
		back any
	}{
		{"Topic", &pubsub.Topic{
			Name:                     "projects/p/topics/t",
			Labels:                   map[string]string{"a_b": "<&>"},
			MessageRetentionDuration: "600.5s",
			SchemaSettings:           &pubsub.SchemaSettings{Schema: "projects/p/schemas/s", Encoding: "JSON"},
			State:                    "ACTIVE",
			Tags:                     map[string]string{"123/env": "prod"},
		}, &pubsub.Topic{}},
		{"Subscription", &pubsub.Subscription{
			Name:                  "projects/p/subscriptions/s",
			Topic:                 "projects/p/topics/t",
			AckDeadlineSeconds:    10,
			DeadLetterPolicy:      &pubsub.DeadLetterPolicy{DeadLetterTopic: "projects/p/topics/d", MaxDeliveryAttempts: 5},
			ExpirationPolicy:      &pubsub.ExpirationPolicy{},
			RetryPolicy:           &pubsub.RetryPolicy{MinimumBackoff: "10s", MaximumBackoff: "600s"},
			PushConfig:            &pubsub.PushConfig{PushEndpoint: "https://example.com/?a=b&c=d", NoWrapper: &pubsub.NoWrapper{WriteMetadata: true}},
			EnableMessageOrdering: true,
			CloudStorageConfig:    &pubsub.CloudStorageConfig{Bucket: "b", MaxBytes: 1000, MaxDuration: "60s"},
		}, &pubsub.Subscription{}},
		{"PublishRequest", &pubsub.PublishRequest{Messages: []*pubsub.PubsubMessage{
			{Data: "aGk/Pz4+", Attributes: map[string]string{"k": "v"}, OrderingKey: "o"},
			{Attributes: map[string]string{"only": "attributes"}},
		}}, &pubsub.PublishRequest{}},
		{"ModifyAckDeadlineRequest", &pubsub.ModifyAckDeadlineRequest{
			AckIds: []string{"a"}, ForceSendFields: []string{"AckDeadlineSeconds"},
		}, &pubsub.ModifyAckDeadlineRequest{}},
		{"UpdateSubscriptionRequest", &pubsub.UpdateSubscriptionRequest{
			Subscription: &pubsub.Subscription{AckDeadlineSeconds: 60}, UpdateMask: "ackDeadlineSeconds,retryPolicy",
		}, &pubsub.UpdateSubscriptionRequest{}},
		{"PullResponse", &pubsub.PullResponse{ReceivedMessages: []*pubsub.ReceivedMessage{
			{AckId: "a", DeliveryAttempt: 2, Message: &pubsub.PubsubMessage{MessageId: "1", PublishTime: "2025-01-01T00:00:00.123Z"}},
		}}, &pubsub.PullResponse{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sent, err := json.Marshal(c.sent)
			if err != nil {
				t.Fatal(err)
			}
			p := pairNamed(t, c.name)
			if !p.compare(t, sent) {
				t.Fatalf("refused: %s", sent)
			}
			ours := p.ours()
			if err := wire.Unmarshal(sent, ours); err != nil {
				t.Fatal(err)
			}
			written, err := wire.Marshal(ours)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(written, c.back); err != nil {
				t.Fatal(err)
			}
			if back, err := json.Marshal(c.back); err != nil || len(back) < len(sent)-len(`"ackDeadlineSeconds":0,`) {
				t.Errorf("sent %s\ngot back %s: %v", sent, back, err)
			}
		})
	}
}
