package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// fails checks that a call failed with a code and words.
func (c grpcClient) fails(err error, code codes.Code, words ...string) {
	c.Helper()
	if status.Code(err) != code {
		c.Errorf("got %v, want %v", err, code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			c.Errorf("the message lacks %q: %v", word, err)
		}
	}
}

func TestGRPCTopics(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		topics := c.TopicAdminClient
		_, err := topics.GetTopic(c.ctx, &pubsubpb.GetTopicRequest{Topic: orders})
		c.fails(err, codes.NotFound, orders)
		c.topic(orders)
		_, err = topics.CreateTopic(c.ctx, &pubsubpb.Topic{Name: orders})
		c.fails(err, codes.AlreadyExists, orders)
		_, err = topics.CreateTopic(c.ctx, &pubsubpb.Topic{Name: dead, KmsKeyName: "k"})
		c.fails(err, codes.Unimplemented, "kmsKeyName")
		updated, err := topics.UpdateTopic(c.ctx, &pubsubpb.UpdateTopicRequest{
			Topic: &pubsubpb.Topic{Name: orders, Labels: map[string]string{"a": "b"}}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"labels"}},
		})
		c.must(err)
		if updated.Labels["a"] != "b" || updated.State != pubsubpb.Topic_ACTIVE {
			c.Errorf("updated to %v", updated)
		}
		_, err = c.Publisher(dead).Publish(c.ctx, &pubsub.Message{Data: []byte("x")}).Get(c.ctx)
		c.fails(err, codes.NotFound, dead)
		_, err = c.Publisher(orders).Publish(c.ctx, &pubsub.Message{Attributes: map[string]string{"goog-x": "y"}}).Get(c.ctx)
		c.fails(err, codes.InvalidArgument, "goog")
		c.must(topics.DeleteTopic(c.ctx, &pubsubpb.DeleteTopicRequest{Topic: orders}))
		c.fails(topics.DeleteTopic(c.ctx, &pubsubpb.DeleteTopicRequest{Topic: orders}), codes.NotFound)
	})
}

func TestGRPCUpdateMasks(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{RetryPolicy: &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(time.Second)}, Labels: map[string]string{"a": "b"}})
		update := func(s *pubsubpb.Subscription, paths ...string) (*pubsubpb.Subscription, error) {
			s.Name = billing
			return c.SubscriptionAdminClient.UpdateSubscription(c.ctx, &pubsubpb.UpdateSubscriptionRequest{Subscription: s, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		}
		got, err := update(&pubsubpb.Subscription{AckDeadlineSeconds: 77, Filter: "no"}, "ack_deadline_seconds", "retry_policy.maximum_backoff", "expiration_policy")
		c.must(err)
		if got.AckDeadlineSeconds != 77 || got.RetryPolicy.MinimumBackoff.Seconds != 1 || got.RetryPolicy.MaximumBackoff.Seconds != 600 ||
			got.ExpirationPolicy.Ttl.Seconds != 2678400 || got.Labels["a"] != "b" {
			c.Errorf("updated to %v", got)
		}
		got, err = update(&pubsubpb.Subscription{ExpirationPolicy: &pubsubpb.ExpirationPolicy{}}, "expiration_policy", "retry_policy", "labels")
		c.must(err)
		if got.ExpirationPolicy == nil || got.ExpirationPolicy.Ttl != nil || got.RetryPolicy != nil || got.Labels != nil {
			c.Errorf("updated to %v", got)
		}
		for path, words := range map[string]string{"filter": "cannot be changed", "topic": "cannot be changed", "bogus": "bogus", "labels.a": "labels.a", "": "updateMask"} {
			_, err := update(&pubsubpb.Subscription{}, path)
			c.fails(err, codes.InvalidArgument, words)
		}
		got, err = update(&pubsubpb.Subscription{EnableExactlyOnceDelivery: true}, "enable_exactly_once_delivery")
		c.must(err)
		if !got.EnableExactlyOnceDelivery {
			c.Errorf("updated to %v", got)
		}
	})
}

func TestGRPCLists(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		c.topic(orders)
		c.topic("projects/pp/topics/orders")
		for i := range 5 {
			c.subscribe(&pubsubpb.Subscription{Name: fmt.Sprint(billing, i)})
		}
		var subs, attached []string
		for it := c.SubscriptionAdminClient.ListSubscriptions(c.ctx, &pubsubpb.ListSubscriptionsRequest{Project: "projects/p", PageSize: 2}); ; {
			s, err := it.Next()
			if err == iterator.Done {
				break
			}
			c.must(err)
			subs = append(subs, s.Name)
		}
		for it := c.TopicAdminClient.ListTopicSubscriptions(c.ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: orders, PageSize: 2}); ; {
			s, err := it.Next()
			if err == iterator.Done {
				break
			}
			c.must(err)
			attached = append(attached, s)
		}
		if len(subs) != 5 || fmt.Sprint(subs) != fmt.Sprint(attached) {
			c.Errorf("listed %v and %v", subs, attached)
		}
		it := c.TopicAdminClient.ListTopics(c.ctx, &pubsubpb.ListTopicsRequest{Project: "projects/p"})
		first, err := it.Next()
		c.must(err)
		if _, err := it.Next(); first.Name != orders || err != iterator.Done {
			c.Errorf("listed %v, then %v", first, err)
		}
	})
}

func TestGRPCPushConfig(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		pushed := make(chan string, 100)
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				c.Error(err)
			}
			pushed <- string(body)
			w.WriteHeader(http.StatusNoContent)
		}))
		c.Cleanup(endpoint.Close)
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{PushConfig: &pubsubpb.PushConfig{PushEndpoint: endpoint.URL}})
		c.publishMany(1)
		if body := <-pushed; !strings.Contains(body, `"data":"MA=="`) || !strings.Contains(body, billing) {
			c.Errorf("pushed %s", body)
		}
		err := c.Subscriber(billing).Receive(c.ctx, func(_ context.Context, m *pubsub.Message) {})
		c.fails(err, codes.FailedPrecondition, "push")
		modify := &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: &pubsubpb.PushConfig{}}
		c.must(c.SubscriptionAdminClient.ModifyPushConfig(c.ctx, modify))
		c.publishMany(1)
		c.receive(billing, pubsub.DefaultReceiveSettings, func(m *pubsub.Message) bool { m.Ack(); return true })
		modify.PushConfig = &pubsubpb.PushConfig{PushEndpoint: "nowhere"}
		c.fails(c.SubscriptionAdminClient.ModifyPushConfig(c.ctx, modify), codes.InvalidArgument, "pushEndpoint")
	})
}

func TestGRPCUnwrappedPush(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		pushed := make(chan *http.Request, 100)
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != "0" {
				c.Errorf("pushed %q (%v)", body, err)
			}
			pushed <- r.Clone(context.Background())
			w.WriteHeader(http.StatusNoContent)
		}))
		c.Cleanup(endpoint.Close)
		c.topic(orders)
		bare := &pubsubpb.PushConfig{
			PushEndpoint: endpoint.URL,
			Wrapper:      &pubsubpb.PushConfig_NoWrapper_{NoWrapper: &pubsubpb.PushConfig_NoWrapper{WriteMetadata: true}},
		}
		c.subscribe(&pubsubpb.Subscription{PushConfig: bare})
		got, err := c.SubscriptionAdminClient.GetSubscription(c.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: billing})
		c.must(err)
		if !got.PushConfig.GetNoWrapper().GetWriteMetadata() {
			c.Errorf("the push configuration reads %v", got.PushConfig)
		}
		c.publishMany(1)
		if h := (<-pushed).Header; h.Get("x-goog-pubsub-subscription-name") != billing || h.Get("x-goog-pubsub-message-id") == "" || h.Get("Content-Type") != "" {
			c.Errorf("pushed with %v", h)
		}
	})
}

// What a subscriber's stream ends with reaches its user.
func TestGRPCReceiveFails(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		nothing := func(_ context.Context, m *pubsub.Message) { m.Ack() }
		c.fails(c.Subscriber(billing).Receive(c.ctx, nothing), codes.NotFound, billing)
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{})
		subscriber := c.Subscriber(billing)
		subscriber.ReceiveSettings.MaxDurationPerAckExtension = 5 * time.Second
		c.fails(subscriber.Receive(c.ctx, nothing), codes.InvalidArgument, "streamAckDeadlineSeconds")
		c.publishMany(1)
		came := make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- c.Subscriber(billing).Receive(c.ctx, func(_ context.Context, m *pubsub.Message) {
				m.Ack()
				close(came)
			})
		}()
		<-came
		_, err := c.TopicAdminClient.DetachSubscription(c.ctx, &pubsubpb.DetachSubscriptionRequest{Subscription: billing})
		c.must(err)
		c.fails(<-ended, codes.FailedPrecondition, "detached")
		c.must(c.SubscriptionAdminClient.DeleteSubscription(c.ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: billing}))
		_, err = c.SubscriptionAdminClient.GetSubscription(c.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: billing})
		c.fails(err, codes.NotFound, billing)
	})
}
