package grpcapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"postrider/subscriptions"
)

// is compares with what protobuf's JSON says.
func (r *rig) is(got proto.Message, want string) {
	r.Helper()
	wanted := got.ProtoReflect().New().Interface()
	r.must(protojson.Unmarshal([]byte(want), wanted))
	if !proto.Equal(got, wanted) {
		r.Errorf("got %v\nwant %v", got, wanted)
	}
}

func TestTopics(t *testing.T) {
	run(t, func(r *rig) {
		labels := map[string]string{"a": "b"}
		created := must[*pubsubpb.Topic](r)(r.CreateTopic(r.ctx, &pubsubpb.Topic{Name: orders, Labels: labels, Tags: map[string]string{"1/e": "p"}}))
		r.is(created, `{"name": "projects/p/topics/orders", "labels": {"a": "b"}, "state": "ACTIVE"}`)
		if got := must[*pubsubpb.Topic](r)(r.GetTopic(r.ctx, &pubsubpb.GetTopicRequest{Topic: orders})); !proto.Equal(got, created) {
			t.Errorf("created %v, got %v", created, got)
		}
		_, err := r.CreateTopic(r.ctx, &pubsubpb.Topic{Name: orders})
		r.refused(err, codes.AlreadyExists, orders)
		_, err = r.CreateTopic(r.ctx, &pubsubpb.Topic{Name: "projects/p/topics/goog"})
		r.refused(err, codes.InvalidArgument, "name", "goog")
		updated := must[*pubsubpb.Topic](r)(r.UpdateTopic(r.ctx, &pubsubpb.UpdateTopicRequest{
			Topic: &pubsubpb.Topic{Name: orders}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"labels"}},
		}))
		r.is(updated, `{"name": "projects/p/topics/orders", "state": "ACTIVE"}`)
		_, err = r.UpdateTopic(r.ctx, &pubsubpb.UpdateTopicRequest{Topic: &pubsubpb.Topic{Name: orders}})
		r.refused(err, codes.InvalidArgument, "updateMask")
		_, err = r.UpdateTopic(r.ctx, &pubsubpb.UpdateTopicRequest{UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"labels"}}})
		r.refused(err, codes.InvalidArgument, "topic.name")
		_, err = r.DeleteTopic(r.ctx, &pubsubpb.DeleteTopicRequest{Topic: orders})
		r.must(err)
		_, err = r.DeleteTopic(r.ctx, &pubsubpb.DeleteTopicRequest{Topic: orders})
		r.refused(err, codes.NotFound, orders)
	})
}

// What is missing is told before what is wrong with a request.
func TestMissingComesFirst(t *testing.T) {
	run(t, func(r *rig) {
		bogus := &fieldmaskpb.FieldMask{Paths: []string{"bogus"}}
		_, err := r.UpdateTopic(r.ctx, &pubsubpb.UpdateTopicRequest{Topic: &pubsubpb.Topic{Name: orders, KmsKeyName: "k"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"kms_key_name"}}})
		r.refused(err, codes.NotFound, orders)
		_, err = r.UpdateSubscription(r.ctx, &pubsubpb.UpdateSubscriptionRequest{Subscription: &pubsubpb.Subscription{Name: billing}, UpdateMask: bogus})
		r.refused(err, codes.NotFound, billing)
		_, err = r.CreateSubscription(r.ctx, &pubsubpb.Subscription{Name: billing, Topic: orders, Filter: "x"})
		r.refused(err, codes.NotFound, orders)
		_, err = r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: &pubsubpb.PushConfig{
			AuthenticationMethod: &pubsubpb.PushConfig_OidcToken_{OidcToken: &pubsubpb.PushConfig_OidcToken{}},
		}})
		r.refused(err, codes.NotFound, billing)
	})
}

func TestSubscriptions(t *testing.T) {
	run(t, func(r *rig) {
		created := r.subscribe(&pubsubpb.Subscription{
			RetryPolicy: &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(1500 * time.Millisecond)}, ExpirationPolicy: &pubsubpb.ExpirationPolicy{},
		})
		r.is(created, `{"name": "projects/p/subscriptions/billing", "topic": "projects/p/topics/orders", "state": "ACTIVE", "ackDeadlineSeconds": 10,
			"messageRetentionDuration": "604800s", "expirationPolicy": {}, "retryPolicy": {"minimumBackoff": "1.5s", "maximumBackoff": "600s"}}`)
		updated := must[*pubsubpb.Subscription](r)(r.UpdateSubscription(r.ctx, &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: billing, AckDeadlineSeconds: 60, Labels: map[string]string{"not": "masked"}, Filter: "neither"},
			UpdateMask:   &fieldmaskpb.FieldMask{Paths: []string{"ack_deadline_seconds", "retry_policy", "expirationPolicy"}},
		}))
		want := `{"name": "projects/p/subscriptions/billing", "topic": "projects/p/topics/orders", "state": "ACTIVE", "ackDeadlineSeconds": 60,
			"messageRetentionDuration": "604800s", "expirationPolicy": {"ttl": "2678400s"}`
		r.is(updated, want+"}")
		_, err := r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: &pubsubpb.PushConfig{PushEndpoint: "https://example.com/"}})
		r.must(err)
		_, err = r.Pull(r.ctx, &pubsubpb.PullRequest{Subscription: billing, MaxMessages: 1})
		r.refused(err, codes.FailedPrecondition, "push")
		_, err = r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing})
		r.must(err)
		r.is(must[*pubsubpb.Subscription](r)(r.GetSubscription(r.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: billing})),
			want+`, "pushConfig": {"attributes": {"x-goog-version": "v1"}}}`)
		bare := &pubsubpb.PushConfig{PushEndpoint: "https://example.com/", Wrapper: &pubsubpb.PushConfig_NoWrapper_{NoWrapper: &pubsubpb.PushConfig_NoWrapper{WriteMetadata: true}}}
		r.is(must[*pubsubpb.Subscription](r)(r.UpdateSubscription(r.ctx, &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: billing, PushConfig: bare}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"push_config"}},
		})), want+`, "pushConfig": {"pushEndpoint": "https://example.com/", "noWrapper": {"writeMetadata": true}, "attributes": {"x-goog-version": "v1"}}}`)
		_, err = r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: &pubsubpb.PushConfig{Wrapper: bare.Wrapper}})
		r.refused(err, codes.InvalidArgument, "pushConfig.noWrapper")
		_, err = r.DetachSubscription(r.ctx, &pubsubpb.DetachSubscriptionRequest{Subscription: billing})
		r.must(err)
		_, err = r.DeleteTopic(r.ctx, &pubsubpb.DeleteTopicRequest{Topic: orders})
		r.must(err)
		if got := must[*pubsubpb.Subscription](r)(r.GetSubscription(r.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: billing})); !got.Detached || got.Topic != "_deleted-topic_" {
			t.Errorf("detached, with its topic deleted: %v", got)
		}
		_, err = r.DeleteSubscription(r.ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: billing})
		r.must(err)
		_, err = r.GetSubscription(r.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: billing})
		r.refused(err, codes.NotFound, billing)
	})
}

func TestOIDCToken(t *testing.T) {
	run(t, func(r *rig) {
		push := &pubsubpb.PushConfig{
			PushEndpoint: "https://example.com/", Attributes: map[string]string{"x-goog-version": "v1"},
			AuthenticationMethod: &pubsubpb.PushConfig_OidcToken_{
				OidcToken: &pubsubpb.PushConfig_OidcToken{ServiceAccountEmail: "a@example.com", Audience: "me"},
			},
		}
		has := func(want *pubsubpb.PushConfig) {
			r.Helper()
			got := must[*pubsubpb.Subscription](r)(r.GetSubscription(r.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: billing}))
			if !proto.Equal(got.GetPushConfig(), want) {
				r.Errorf("got %v\nwant %v", got.GetPushConfig(), want)
			}
		}
		r.subscribe(&pubsubpb.Subscription{PushConfig: push})
		has(push)
		must[*pubsubpb.Subscription](r)(r.UpdateSubscription(r.ctx, &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: billing}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"push_config.oidc_token.audience"}},
		}))
		push.GetOidcToken().Audience = ""
		has(push)
		_, err := r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: &pubsubpb.PushConfig{PushEndpoint: push.PushEndpoint}})
		r.must(err)
		has(&pubsubpb.PushConfig{PushEndpoint: push.PushEndpoint, Attributes: push.Attributes})
		_, err = r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: push})
		r.must(err)
		has(push)
		push.GetOidcToken().ServiceAccountEmail = ""
		_, err = r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: push})
		r.refused(err, codes.InvalidArgument, "pushConfig.oidcToken.serviceAccountEmail")
	})
}

// gRPC has no place for what is ours: it neither shows it nor takes it away.
func TestExtensionsAreLeftAlone(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		name := subscriptions.SubscriptionName{Project: "p", ID: "billing"}
		secrets := []subscriptions.WebhookSecret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
		must[subscriptions.Subscription](r)(r.service.UpdateSubscription(r.ctx, subscriptions.Subscription{Name: name, WebhookSecrets: secrets}, []string{"postrider"}))
		must[*pubsubpb.Subscription](r)(r.UpdateSubscription(r.ctx, &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: billing, AckDeadlineSeconds: 60}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"ack_deadline_seconds"}},
		}))
		for _, path := range []string{"postrider", "postrider.webhookSecrets", "postrider.webhook_secrets"} {
			_, err := r.UpdateSubscription(r.ctx, &pubsubpb.UpdateSubscriptionRequest{
				Subscription: &pubsubpb.Subscription{Name: billing}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{path}},
			})
			r.refused(err, codes.InvalidArgument, "over REST alone")
		}
		if got := must[subscriptions.Subscription](r)(r.service.GetSubscription(r.ctx, name)); !slices.Equal(got.WebhookSecrets, secrets) {
			t.Errorf("left is %v", got.WebhookSecrets)
		}
	})
}

func TestSubscriptionWithoutNameGetsOne(t *testing.T) {
	run(t, func(r *rig) {
		r.topic(orders)
		created := must[*pubsubpb.Subscription](r)(r.CreateSubscription(r.ctx, &pubsubpb.Subscription{Topic: orders}))
		if !strings.HasPrefix(created.Name, "projects/p/subscriptions/") {
			t.Fatal(created)
		}
		must[*pubsubpb.Subscription](r)(r.GetSubscription(r.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: created.Name}))
		_, err := r.CreateSubscription(r.ctx, &pubsubpb.Subscription{})
		r.refused(err, codes.InvalidArgument, "topic")
	})
}

func TestRefusedSubscriptions(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		for words, sub := range map[string]*pubsubpb.Subscription{
			"messageRetentionDuration: 0s":  {MessageRetentionDuration: &durationpb.Duration{}},
			"messageRetentionDuration: thi": {MessageRetentionDuration: &durationpb.Duration{Nanos: -1, Seconds: 1}},
			"expirationPolicy.ttl: 0s":      {ExpirationPolicy: &pubsubpb.ExpirationPolicy{Ttl: &durationpb.Duration{}}},
			"expirationPolicy.ttl: this":    {ExpirationPolicy: &pubsubpb.ExpirationPolicy{Ttl: &durationpb.Duration{Seconds: 1 << 60}}},
			"retryPolicy.maximumBackoff":    {RetryPolicy: &pubsubpb.RetryPolicy{MaximumBackoff: &durationpb.Duration{Seconds: 1 << 60}}},
			"retryPolicy.minimumBackoff":    {RetryPolicy: &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(-time.Second)}},
			"ackDeadlineSeconds":            {AckDeadlineSeconds: 9},
			"deadLetterTopic":               {DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: "x"}},
			"pushEndpoint":                  {PushConfig: &pubsubpb.PushConfig{PushEndpoint: "ftp://example.com"}},
		} {
			sub.Name, sub.Topic = billing+"2", orders
			_, err := r.CreateSubscription(r.ctx, sub)
			r.refused(err, codes.InvalidArgument, words)
		}
	})
}

func TestLists(t *testing.T) {
	run(t, func(r *rig) {
		r.topic("projects/pp/topics/other")
		r.subscribe(&pubsubpb.Subscription{})
		for i := range 4 {
			must[*pubsubpb.Subscription](r)(r.CreateSubscription(r.ctx, &pubsubpb.Subscription{Name: fmt.Sprint(billing, "-", i), Topic: orders}))
			r.topic(fmt.Sprint(orders, "-", i))
		}
		var topics, subs, attached []string
		for token := ""; token != "" || topics == nil; {
			page := must[*pubsubpb.ListTopicsResponse](r)(r.ListTopics(r.ctx, &pubsubpb.ListTopicsRequest{Project: "projects/p", PageSize: 2, PageToken: token}))
			for _, topic := range page.Topics {
				topics = append(topics, topic.Name)
			}
			token = page.NextPageToken
		}
		for token := ""; token != "" || subs == nil; {
			page := must[*pubsubpb.ListSubscriptionsResponse](r)(r.ListSubscriptions(r.ctx, &pubsubpb.ListSubscriptionsRequest{Project: "projects/p", PageSize: 2, PageToken: token}))
			for _, s := range page.Subscriptions {
				subs = append(subs, s.Name)
			}
			token = page.NextPageToken
		}
		for token := ""; token != "" || attached == nil; {
			page := must[*pubsubpb.ListTopicSubscriptionsResponse](r)(r.ListTopicSubscriptions(r.ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: orders, PageSize: 2, PageToken: token}))
			attached = append(attached, page.Subscriptions...)
			token = page.NextPageToken
		}
		if len(topics) != 5 || len(subs) != 5 || fmt.Sprint(subs) != fmt.Sprint(attached) {
			t.Errorf("listed %v, %v, %v", topics, subs, attached)
		}
		for _, project := range []string{"", "p", "projects/p/x", "projects/-bad-"} {
			_, err := r.ListTopics(r.ctx, &pubsubpb.ListTopicsRequest{Project: project})
			r.refused(err, codes.InvalidArgument, "project")
		}
		_, err := r.ListSubscriptions(r.ctx, &pubsubpb.ListSubscriptionsRequest{Project: "projects/p", PageToken: "x"})
		r.refused(err, codes.InvalidArgument, "pageToken")
	})
}

// What is not built is refused by name.
func TestUnbuilt(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		_, err := pubsubpb.NewSchemaServiceClient(r.conn).ListSchemas(r.ctx, &pubsubpb.ListSchemasRequest{})
		r.refused(err, codes.Unimplemented, "ListSchemas: this server")
		for field, topic := range map[string]string{
			"schemaSettings":              `{"schemaSettings": {}}`,
			"kmsKeyName":                  `{"kmsKeyName": "k"}`,
			"messageStoragePolicy":        `{"messageStoragePolicy": {"enforceInTransit": true}}`,
			"ingestionDataSourceSettings": `{"ingestionDataSourceSettings": {"awsKinesis": {}}}`,
			"messageTransforms":           `{"messageTransforms": [{}]}`,
		} {
			in := &pubsubpb.Topic{}
			r.must(protojson.Unmarshal([]byte(topic), in))
			in.Name = dead
			_, err := r.CreateTopic(r.ctx, in)
			r.refused(err, codes.Unimplemented, field+":")
		}
		for field, sub := range map[string]string{
			"bigqueryConfig":     `{"bigqueryConfig": {"table": "t"}}`,
			"bigtableConfig":     `{"bigtableConfig": {"table": "t"}}`,
			"cloudStorageConfig": `{"cloudStorageConfig": {"bucket": "b"}}`,
			"messageTransforms":  `{"messageTransforms": [{}]}`,
		} {
			in := &pubsubpb.Subscription{}
			r.must(protojson.Unmarshal([]byte(sub), in))
			in.Name, in.Topic = billing+"2", orders
			_, err := r.CreateSubscription(r.ctx, in)
			r.refused(err, codes.Unimplemented, field+":")
		}
		must[*pubsubpb.Topic](r)(r.CreateTopic(r.ctx, &pubsubpb.Topic{Name: dead, MessageStoragePolicy: &pubsubpb.MessageStoragePolicy{}}))
		must[*pubsubpb.Subscription](r)(r.CreateSubscription(r.ctx, &pubsubpb.Subscription{Name: billing + "2", Topic: orders, BigqueryConfig: &pubsubpb.BigQueryConfig{}}))
	})
}

func TestIAMGrantsEverythingOnWhatThereIs(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		asked := []string{"pubsub.topics.publish", "pubsub.topics.delete"}
		for _, resource := range []string{orders, billing} {
			if got := must[*iampb.TestIamPermissionsResponse](r)(r.iam.TestIamPermissions(r.ctx, &iampb.TestIamPermissionsRequest{Resource: resource, Permissions: asked})); fmt.Sprint(got.Permissions) != fmt.Sprint(asked) {
				t.Errorf("%s: granted %v", resource, got)
			}
			if got := must[*iampb.Policy](r)(r.iam.GetIamPolicy(r.ctx, &iampb.GetIamPolicyRequest{Resource: resource})); len(got.Bindings) != 0 {
				t.Errorf("%s: the policy is %v", resource, got)
			}
			must[*iampb.Policy](r)(r.iam.SetIamPolicy(r.ctx, &iampb.SetIamPolicyRequest{Resource: resource, Policy: &iampb.Policy{}}))
			_, err := r.iam.SetIamPolicy(r.ctx, &iampb.SetIamPolicyRequest{Resource: resource, Policy: &iampb.Policy{Bindings: []*iampb.Binding{{Role: "r"}}}})
			r.refused(err, codes.Unimplemented, "bindings")
		}
		for _, resource := range []string{dead, billing + "x", "projects/p/snapshots/snap", "projects/p/schemas/s"} {
			if got := must[*iampb.TestIamPermissionsResponse](r)(r.iam.TestIamPermissions(r.ctx, &iampb.TestIamPermissionsRequest{Resource: resource, Permissions: asked})); len(got.Permissions) != 0 {
				t.Errorf("%s: granted %v", resource, got)
			}
			_, err := r.iam.GetIamPolicy(r.ctx, &iampb.GetIamPolicyRequest{Resource: resource})
			r.refused(err, codes.NotFound, resource)
		}
		_, err := r.iam.GetIamPolicy(r.ctx, &iampb.GetIamPolicyRequest{Resource: "x"})
		r.refused(err, codes.InvalidArgument, "resource")
	})
}
