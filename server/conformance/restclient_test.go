package conformance

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	pubsub "google.golang.org/api/pubsub/v1"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// client is Google's REST client, pointed at a server of ours and not told of it otherwise.
type client struct {
	t *testing.T
	*pubsub.Service
}

// withClient runs a test against each store.
func withClient(t *testing.T, test func(client)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(newClient(t, memory.New(memory.Options{})))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		store, err := redisstream.Open(t.Context(), redistest.Shared(t).URL(), redisstream.Options{Prefix: fmt.Sprintf("rest-%x:", rand.Uint64())})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		test(newClient(t, store))
	})
}

func newClient(t *testing.T, store subscriptions.Store) client {
	t.Helper()
	over := httptest.NewServer(server.New(subscriptions.NewService(store, subscriptions.Options{}), server.Options{}))
	t.Cleanup(over.Close)
	service, err := pubsub.NewService(t.Context(), option.WithEndpoint(over.URL), option.WithoutAuthentication(), option.WithHTTPClient(over.Client()))
	if err != nil {
		t.Fatal(err)
	}
	return client{t, service}
}

// call is what each of the client's methods makes.
type call[T any] interface {
	Do(...googleapi.CallOption) (T, error)
}

// ok makes a call that must succeed.
func ok[T any](c client, what call[T]) T {
	c.t.Helper()
	answer, err := what.Do()
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// refused makes a call that must fail with this status and the code of it, which the client must be able to read.
func refused[T any](c client, what call[T], status int, code string, words ...string) {
	c.t.Helper()
	_, err := what.Do()
	var told *googleapi.Error
	if !errors.As(err, &told) {
		c.t.Fatalf("got %v, want an error of the API", err)
	}
	if told.Code != status || !strings.Contains(told.Body, `"`+code+`"`) || told.Message == "" {
		c.t.Fatalf("got %d %s, want %d %s", told.Code, told.Body, status, code)
	}
	for _, word := range words {
		if !strings.Contains(told.Message, word) {
			c.t.Fatalf("the message lacks %q: %s", word, told.Message)
		}
	}
}

const (
	orders  = "projects/p/topics/orders"
	dead    = "projects/p/topics/dead"
	billing = "projects/p/subscriptions/billing"
)

func (c client) topic(name string) {
	c.t.Helper()
	ok(c, c.Projects.Topics.Create(name, &pubsub.Topic{}))
}

func (c client) subscribe(name string, s *pubsub.Subscription) *pubsub.Subscription {
	c.t.Helper()
	s.Topic = orders
	return ok(c, c.Projects.Subscriptions.Create(name, s))
}

func (c client) publish(data ...string) []string {
	c.t.Helper()
	r := &pubsub.PublishRequest{}
	for _, d := range data {
		r.Messages = append(r.Messages, &pubsub.PubsubMessage{Data: base64.StdEncoding.EncodeToString([]byte(d)), Attributes: map[string]string{"k": "<" + d + ">"}})
	}
	return ok(c, c.Projects.Topics.Publish(orders, r)).MessageIds
}

func (c client) pull(name string) []*pubsub.ReceivedMessage {
	c.t.Helper()
	return ok(c, c.Projects.Subscriptions.Pull(name, &pubsub.PullRequest{MaxMessages: 10, ReturnImmediately: true})).ReceivedMessages
}

func TestClientMessages(t *testing.T) {
	withClient(t, func(c client) {
		c.topic(orders)
		c.topic(dead)
		c.subscribe(billing, &pubsub.Subscription{DeadLetterPolicy: &pubsub.DeadLetterPolicy{DeadLetterTopic: dead}})
		if got := c.pull(billing); len(got) != 0 {
			c.t.Fatalf("pulled %v from an empty subscription", got)
		}
		ids := c.publish("first", "second")
		got := c.pull(billing)
		if len(got) != 2 || len(ids) != 2 || got[0].Message.MessageId != ids[0] || got[1].Message.MessageId != ids[1] {
			c.t.Fatalf("published %v, pulled %v", ids, got)
		}
		first := got[0]
		if first.Message.Data != "Zmlyc3Q=" || first.Message.Attributes["k"] != "<first>" || first.DeliveryAttempt != 1 || first.Message.PublishTime == "" {
			c.t.Errorf("got %+v, %+v", first, first.Message)
		}
		ok(c, c.Projects.Subscriptions.Acknowledge(billing, &pubsub.AcknowledgeRequest{AckIds: []string{first.AckId}}))
		second := []string{got[1].AckId}
		ok(c, c.Projects.Subscriptions.ModifyAckDeadline(billing, &pubsub.ModifyAckDeadlineRequest{AckIds: second, AckDeadlineSeconds: 60}))
		if got := c.pull(billing); len(got) != 0 {
			c.t.Fatalf("pulled %v under a lease", got)
		}
		ok(c, c.Projects.Subscriptions.ModifyAckDeadline(billing, &pubsub.ModifyAckDeadlineRequest{AckIds: second})) // 0 is not sent
		if again := c.pull(billing); len(again) != 1 || again[0].DeliveryAttempt != 2 || again[0].Message.MessageId != ids[1] {
			c.t.Errorf("after the nack: %v", again)
		}
		refused(c, c.Projects.Subscriptions.Acknowledge(billing, &pubsub.AcknowledgeRequest{AckIds: []string{"nonsense"}}), 400, "INVALID_ARGUMENT", "ackIds[0]")
		refused(c, c.Projects.Topics.Publish(orders, &pubsub.PublishRequest{}), 400, "INVALID_ARGUMENT", "1 to 1000")
	})
}

func TestClientTopics(t *testing.T) {
	withClient(t, func(c client) {
		topics := c.Projects.Topics
		created := ok(c, topics.Create(orders, &pubsub.Topic{Labels: map[string]string{"a": "b"}}))
		if created.Name != orders || created.State != "ACTIVE" || created.Labels["a"] != "b" {
			c.t.Errorf("created %+v", created)
		}
		refused(c, topics.Create(orders, &pubsub.Topic{}), 409, "ALREADY_EXISTS", orders)
		refused(c, topics.Create("projects/p/topics/goog", &pubsub.Topic{}), 400, "INVALID_ARGUMENT", "goog")
		refused(c, topics.Create(dead, &pubsub.Topic{KmsKeyName: "k"}), 501, "UNIMPLEMENTED", "kmsKeyName")
		refused(c, topics.Get(dead), 404, "NOT_FOUND", dead)
		patched := ok(c, topics.Patch(orders, &pubsub.UpdateTopicRequest{Topic: &pubsub.Topic{Name: orders}, UpdateMask: "labels"}))
		if patched.Labels != nil || ok(c, topics.Get(orders)).Labels != nil {
			c.t.Errorf("patched to %+v", patched)
		}
		refused(c, topics.Patch(orders, &pubsub.UpdateTopicRequest{Topic: &pubsub.Topic{}}), 400, "INVALID_ARGUMENT", "updateMask")
		ok(c, topics.Delete(orders))
		refused(c, topics.Delete(orders), 404, "NOT_FOUND")
	})
}

func TestClientSubscriptions(t *testing.T) {
	withClient(t, func(c client) {
		c.topic(orders)
		subs := c.Projects.Subscriptions
		created := c.subscribe(billing, &pubsub.Subscription{ExpirationPolicy: &pubsub.ExpirationPolicy{}, RetryPolicy: &pubsub.RetryPolicy{MinimumBackoff: "1.5s"}})
		if created.AckDeadlineSeconds != 10 || created.MessageRetentionDuration != "604800s" || created.State != "ACTIVE" || created.Topic != orders ||
			created.ExpirationPolicy == nil || created.ExpirationPolicy.Ttl != "" || created.RetryPolicy.MinimumBackoff != "1.500s" {
			c.t.Errorf("created %+v", created)
		}
		patched := ok(c, subs.Patch(billing, &pubsub.UpdateSubscriptionRequest{
			Subscription: &pubsub.Subscription{Name: billing, AckDeadlineSeconds: 60}, UpdateMask: "ackDeadlineSeconds,retry_policy",
		}))
		if patched.AckDeadlineSeconds != 60 || patched.RetryPolicy != nil {
			c.t.Errorf("patched to %+v", patched)
		}
		ok(c, subs.ModifyPushConfig(billing, &pubsub.ModifyPushConfigRequest{PushConfig: &pubsub.PushConfig{PushEndpoint: "https://example.com/"}}))
		refused(c, subs.Pull(billing, &pubsub.PullRequest{MaxMessages: 1}), 400, "FAILED_PRECONDITION")
		ok(c, subs.ModifyPushConfig(billing, &pubsub.ModifyPushConfigRequest{PushConfig: &pubsub.PushConfig{}}))
		if push := ok(c, subs.Get(billing)).PushConfig; push == nil || push.PushEndpoint != "" || push.Attributes["x-goog-version"] != "v1" {
			c.t.Errorf("a cleared pushConfig is %+v", push)
		}
		ok(c, subs.Detach(billing))
		if !ok(c, subs.Get(billing)).Detached {
			c.t.Error("it does not read as detached")
		}
		refused(c, subs.Seek(billing, &pubsub.SeekRequest{Time: "2025-01-01T00:00:00Z"}), 400, "FAILED_PRECONDITION", "detached")
		ok(c, c.Projects.Topics.Delete(orders))
		if got := ok(c, subs.Get(billing)).Topic; got != "_deleted-topic_" {
			c.t.Errorf("the topic reads %s", got)
		}
		ok(c, subs.Delete(billing))
		refused(c, subs.Get(billing), 404, "NOT_FOUND", billing)
	})
}

func TestClientLists(t *testing.T) {
	withClient(t, func(c client) {
		c.topic(orders)
		c.topic("projects/pp/topics/orders")
		var want []string
		for i := range 5 {
			name := fmt.Sprintf("%s-%d", billing, i)
			c.subscribe(name, &pubsub.Subscription{})
			c.topic(fmt.Sprintf("%s-%d", orders, i))
			want = append(want, name)
		}
		ctx := context.Background()
		var subs, attached, topics []string
		for _, err := range []error{
			c.Projects.Subscriptions.List("projects/p").PageSize(2).Pages(ctx, func(page *pubsub.ListSubscriptionsResponse) error {
				for _, s := range page.Subscriptions {
					subs = append(subs, s.Name)
				}
				return nil
			}),
			c.Projects.Topics.Subscriptions.List(orders).PageSize(2).Pages(ctx, func(page *pubsub.ListTopicSubscriptionsResponse) error {
				attached = append(attached, page.Subscriptions...)
				return nil
			}),
			c.Projects.Topics.List("projects/p").PageSize(4).Pages(ctx, func(page *pubsub.ListTopicsResponse) error {
				for _, t := range page.Topics {
					topics = append(topics, t.Name)
				}
				return nil
			}),
		} {
			if err != nil {
				c.t.Fatal(err)
			}
		}
		if !slices.Equal(subs, want) || !slices.Equal(attached, want) || len(topics) != 6 || slices.Contains(topics, "projects/pp/topics/orders") {
			c.t.Errorf("listed %v, %v, %v", subs, attached, topics)
		}
		refused(c, c.Projects.Topics.List("projects/p").PageToken("nonsense"), 400, "INVALID_ARGUMENT", "pageToken")
	})
}

// The client escapes names character by character.
func TestClientOddNames(t *testing.T) {
	withClient(t, func(c client) {
		for _, id := range []string{"my.topic+x~y_%25-z", "a%b", "a%2Fb", "a+b", "abc%3Apublish"} {
			topic, sub := "projects/example.com:p/topics/"+id, "projects/example.com:p/subscriptions/"+id
			if got := ok(c, c.Projects.Topics.Create(topic, &pubsub.Topic{})).Name; got != topic {
				c.t.Errorf("created %s as %s", topic, got)
			}
			ok(c, c.Projects.Subscriptions.Create(sub, &pubsub.Subscription{Topic: topic}))
			ok(c, c.Projects.Topics.Publish(topic, &pubsub.PublishRequest{Messages: []*pubsub.PubsubMessage{{Data: "aGk="}}}))
			if got := c.pull(sub); len(got) != 1 {
				c.t.Errorf("%s: pulled %v", sub, got)
			}
			if got := ok(c, c.Projects.Subscriptions.Get(sub)); got.Name != sub || got.Topic != topic {
				c.t.Errorf("got %s of %s", got.Name, got.Topic)
			}
		}
		refused(c, c.Projects.Topics.Create("projects/p/topics/a b", &pubsub.Topic{}), 400, "INVALID_ARGUMENT", "a b")
		refused(c, c.Projects.Topics.Create("projects/p/topics/pé", &pubsub.Topic{}), 400, "INVALID_ARGUMENT", "pé")
	})
}

// A server that refuses for reasons of HTTP is understood, too.
func TestClientReadsErrorsOfTheRouter(t *testing.T) {
	c := newClient(t, memory.New(memory.Options{}))
	c.BasePath += "/nowhere/"
	refused(c, c.Projects.Topics.Get(orders), http.StatusNotFound, "NOT_FOUND", "no such method")
}
