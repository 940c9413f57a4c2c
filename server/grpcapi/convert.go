package grpcapi

import (
	"errors"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"postrider/server/rules"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// topicOf makes the domain's topic of the fields that a request is about.
func topicOf(name subscriptions.TopicName, in *pubsubpb.Topic, about rules.Fields) (subscriptions.Topic, error) {
	t := subscriptions.Topic{Name: name, Labels: in.GetLabels()}
	err := unbuiltOfTopic(in).Refuse(about)
	if err == nil && about("messageRetentionDuration") {
		t.Retention, err = retentionOf(in.GetMessageRetentionDuration())
	}
	return t, err
}

func unbuiltOfTopic(t *pubsubpb.Topic) rules.UnbuiltOfTopic {
	return rules.UnbuiltOfTopic{
		SchemaSettings:              t.GetSchemaSettings() != nil,
		KmsKeyName:                  t.GetKmsKeyName() != "",
		MessageStoragePolicy:        filled(t.GetMessageStoragePolicy()),
		IngestionDataSourceSettings: filled(t.GetIngestionDataSourceSettings()),
		MessageTransforms:           len(t.GetMessageTransforms()) > 0,
	}
}

// filled tells whether a message has any content.
func filled(m proto.Message) bool { return proto.Size(m) > 0 }

func pbTopic(t subscriptions.Topic) *pubsubpb.Topic {
	out := &pubsubpb.Topic{Name: t.Name.String(), Labels: t.Labels, State: pubsubpb.Topic_ACTIVE}
	if t.Retention != 0 {
		out.MessageRetentionDuration = durationpb.New(t.Retention)
	}
	return out
}

// retentionOf reads a messageRetentionDuration.
func retentionOf(d *durationpb.Duration) (time.Duration, error) {
	given, err := durationOf("messageRetentionDuration", d)
	if err != nil {
		return 0, err
	}
	return rules.Retention(given)
}

func messagesOf(in []*pubsubpb.PubsubMessage) []subscriptions.Message {
	out := make([]subscriptions.Message, len(in))
	for i, m := range in {
		out[i] = subscriptions.Message{Data: m.GetData(), Attributes: m.GetAttributes(), OrderingKey: m.GetOrderingKey()}
	}
	return out
}

func pbReceived(got []subscriptions.Received) []*pubsubpb.ReceivedMessage {
	out := make([]*pubsubpb.ReceivedMessage, len(got))
	for i, r := range got {
		out[i] = &pubsubpb.ReceivedMessage{
			AckId:           r.AckID,
			DeliveryAttempt: int32(r.Attempt),
			Message: &pubsubpb.PubsubMessage{
				Data:        r.Message.Data,
				Attributes:  r.Message.Attributes,
				MessageId:   r.Message.ID.String(),
				PublishTime: timestamppb.New(r.Message.PublishTime()),
				OrderingKey: r.Message.OrderingKey,
			},
		}
	}
	return out
}

// projectOf reads "projects/PROJECT".
func projectOf(name string) (string, error) {
	project, ok := strings.CutPrefix(name, "projects/")
	if !ok || strings.Contains(project, "/") {
		return "", subscriptions.Errorf(subscriptions.InvalidArgument, "project: %q is not of the form projects/PROJECT", name)
	}
	return project, nil
}

// pageOf reads what every request for a list has.
func pageOf(r interface {
	GetPageSize() int32
	GetPageToken() string
}) subscriptions.Page {
	return subscriptions.Page{Size: int(r.GetPageSize()), Token: r.GetPageToken()}
}

// maskOf reads an update mask.
func maskOf(mask *fieldmaskpb.FieldMask) ([]string, error) {
	paths, err := wire.FieldMask(strings.Join(mask.GetPaths(), ",")).Paths()
	var malformed *wire.Error
	if errors.As(err, &malformed) {
		return nil, subscriptions.Errorf(subscriptions.InvalidArgument, "updateMask: %s", malformed.Problem)
	}
	return paths, err
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// durationOf is nil for a duration that is not there.
func durationOf(field string, d *durationpb.Duration) (*time.Duration, error) {
	if d == nil {
		return nil, nil
	}
	if err := d.CheckValid(); err != nil {
		return nil, subscriptions.WrapError(err, subscriptions.InvalidArgument, "%s: this is not a duration", field)
	}
	t := d.AsDuration()
	return &t, nil
}
