package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// both is a server with both interfaces, on stores of their own, so that both are asked for the same in the same state.
type both struct {
	*testing.T
	rest http.Handler
	grpcClient
}

func newBoth(t *testing.T) both {
	rest := server.New(subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{}), server.Options{})
	return both{t, rest, newGRPC(t, memory.New(memory.Options{}))}
}

// same asks for the same by REST and by gRPC and wants the same answer, in the same words if it is a refusal.
func (b both) same(name, method, path, body string, answer proto.Message, call func(context.Context) (proto.Message, error)) {
	b.T.Helper()
	w := httptest.NewRecorder()
	b.rest.ServeHTTP(w, httptest.NewRequest(method, "http://localhost/v1/"+path, strings.NewReader(body)))
	text, err := io.ReadAll(w.Body)
	b.must(err)
	got, err := call(b.ctx)
	if err != nil {
		var told struct {
			Error struct{ Message, Status string }
		}
		b.must(json.Unmarshal(text, &told))
		s := status.Convert(err)
		if wrapped, ok := apierror.FromError(err); ok {
			s = wrapped.GRPCStatus()
		}
		code := strings.ToUpper(snake(s.Code().String()))
		if told.Error.Message != s.Message() || told.Error.Status != code {
			b.T.Errorf("%s:\nREST says %s\ngRPC says %s: %s", name, text, code, s.Message())
		}
		return
	}
	b.must(protojson.Unmarshal(text, answer))
	if !proto.Equal(got, answer) {
		b.T.Errorf("%s:\nREST answers %v\ngRPC answers %v", name, answer, got)
	}
}

// snake is InvalidArgument as invalid_argument.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// TestSameRules asks for subscriptions and topics of all kinds by REST and by gRPC.
func TestSameRules(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	for _, name := range []string{orders, dead} {
		b.same(name, "PUT", name, "{}", &pubsubpb.Topic{}, func(ctx context.Context) (proto.Message, error) {
			return b.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: name})
		})
	}
	for i, settings := range subscriptionSettings {
		name := billing + "-" + fmt.Sprint(i)
		in := &pubsubpb.Subscription{}
		b.must(protojson.Unmarshal([]byte(settings), in))
		if in.Topic == "" {
			in.Topic = orders
		}
		in.Name = name
		body, err := protojson.Marshal(in)
		b.must(err)
		b.same("create "+settings, "PUT", name, string(body), &pubsubpb.Subscription{}, func(ctx context.Context) (proto.Message, error) {
			return b.SubscriptionAdminClient.CreateSubscription(ctx, in)
		})
		in.Topic = ""
		for _, mask := range masks {
			change := &pubsubpb.UpdateSubscriptionRequest{}
			b.must(protojson.Unmarshal([]byte(`{"updateMask": "`+mask+`"}`), change))
			change.Subscription = in
			body, err := protojson.Marshal(change)
			b.must(err)
			b.same("change "+mask+" to "+settings, "PATCH", name, string(body), &pubsubpb.Subscription{}, func(ctx context.Context) (proto.Message, error) {
				return b.SubscriptionAdminClient.UpdateSubscription(ctx, change)
			})
		}
	}
	for i, settings := range topicSettings {
		name := orders + "-" + fmt.Sprint(i)
		in := &pubsubpb.Topic{}
		b.must(protojson.Unmarshal([]byte(settings), in))
		in.Name = name
		body, err := protojson.Marshal(in)
		b.must(err)
		b.same("create "+settings, "PUT", name, string(body), &pubsubpb.Topic{}, func(ctx context.Context) (proto.Message, error) {
			return b.TopicAdminClient.CreateTopic(ctx, in)
		})
	}
}

var subscriptionSettings = []string{
	`{}`,
	`{"topic": "projects/p/topics/missing"}`,
	`{"topic": "projects/p/topics/missing", "filter": "x"}`,
	`{"topic": "nonsense"}`,
	`{"ackDeadlineSeconds": 600, "labels": {"a": "b"}, "messageRetentionDuration": "600s", "expirationPolicy": {"ttl": "86400s"}}`,
	`{"ackDeadlineSeconds": 9}`,
	`{"ackDeadlineSeconds": 601}`,
	`{"ackDeadlineSeconds": -1}`,
	`{"messageRetentionDuration": "0s"}`,
	`{"messageRetentionDuration": "599s"}`,
	`{"expirationPolicy": {}}`,
	`{"expirationPolicy": {"ttl": "0s"}}`,
	`{"expirationPolicy": {"ttl": "1s"}}`,
	`{"retryPolicy": {}}`,
	`{"retryPolicy": {"minimumBackoff": "0s", "maximumBackoff": "1.5s"}}`,
	`{"retryPolicy": {"minimumBackoff": "600s", "maximumBackoff": "1s"}}`,
	`{"deadLetterPolicy": {}}`,
	`{"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead"}}`,
	`{"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead", "maxDeliveryAttempts": 4}}`,
	`{"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/missing"}}`,
	`{"deadLetterPolicy": {"deadLetterTopic": "nonsense", "maxDeliveryAttempts": 7}}`,
	`{"pushConfig": {}}`,
	`{"pushConfig": {"pushEndpoint": "https://example.com/", "pubsubWrapper": {}}}`,
	`{"pushConfig": {"attributes": {"x-goog-version": "v1"}}}`,
	`{"pushConfig": {"attributes": {"x-goog-version": "v2"}}}`,
	`{"pushConfig": {"pushEndpoint": "nowhere"}}`,
	`{"pushConfig": {"pushEndpoint": "https://example.com/", "oidcToken": {}}}`,
	`{"pushConfig": {"oidcToken": {"serviceAccountEmail": "a@example.com"}}}`,
	`{"pushConfig": {"pushEndpoint": "https://example.com/", "oidcToken": {"serviceAccountEmail": "a@example.com", "audience": "x"}}}`,
	`{"pushConfig": {"pushEndpoint": "https://example.com/", "noWrapper": {"writeMetadata": true}}}`,
	`{"pushConfig": {"noWrapper": {}}}`,
	`{"pushConfig": {"pubsubWrapper": {}}}`,
	`{"labels": {"A": "b"}}`,
	`{"labels": {"": "b"}}`,
	`{"enableMessageOrdering": true}`,
	`{"filter": "attributes:k"}`,
	`{"filter": "nonsense"}`,
	`{"enableExactlyOnceDelivery": true}`,
	`{"retainAckedMessages": true}`,
	`{"bigqueryConfig": {"table": "t"}}`,
	`{"bigtableConfig": {"table": "t"}}`,
	`{"cloudStorageConfig": {"bucket": "b"}}`,
	`{"messageTransforms": [{"disabled": true}]}`,
	`{"tags": {"123/env": "prod"}, "detached": true, "state": "RESOURCE_ERROR", "topicMessageRetentionDuration": "600s"}`,
}

var masks = []string{
	"", "bogus", "name", "topic", "filter", "enableMessageOrdering", "detached", "state",
	"ackDeadlineSeconds", "messageRetentionDuration", "expirationPolicy", "expirationPolicy.ttl", "labels",
	"deadLetterPolicy", "deadLetterPolicy.maxDeliveryAttempts", "retryPolicy", "retryPolicy.minimumBackoff",
	"pushConfig", "pushConfig.pushEndpoint", "pushConfig.attributes", "pushConfig.oidcToken",
	"pushConfig.oidcToken.serviceAccountEmail", "pushConfig.oidcToken.audience", "pushConfig.oidcToken.x",
	"pushConfig.noWrapper", "pushConfig.noWrapper.writeMetadata", "pushConfig.pubsubWrapper",
	"enableExactlyOnceDelivery,labels", "retainAckedMessages", "bigqueryConfig", "cloudStorageConfig.bucket", "messageTransforms", "tags",
}

var topicSettings = []string{
	`{}`,
	`{"labels": {"a": "b"}}`,
	`{"labels": {"1": "b"}}`,
	`{"kmsKeyName": "k"}`,
	`{"messageRetentionDuration": "600s"}`,
	`{"messageRetentionDuration": "0s"}`,
	`{"schemaSettings": {}}`,
	`{"schemaSettings": {"schema": "projects/p/schemas/s", "encoding": "JSON"}}`,
	`{"messageStoragePolicy": {}}`,
	`{"messageStoragePolicy": {"allowedPersistenceRegions": ["x"]}}`,
	`{"messageStoragePolicy": {"enforceInTransit": true}}`,
	`{"ingestionDataSourceSettings": {}}`,
	`{"ingestionDataSourceSettings": {"awsKinesis": {"streamArn": "a"}}}`,
	`{"messageTransforms": [{}]}`,
	`{"state": "INGESTION_RESOURCE_ERROR", "satisfiesPzs": true, "tags": {"1/e": "p"}}`,
}
