package conformance

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	rest "google.golang.org/api/pubsub/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// What a filter does not select, Google's REST client never sees.
func TestClientFilters(t *testing.T) {
	withClient(t, func(c client) {
		const filter = `attributes.k = "<b>" OR hasPrefix(attributes.k, "<d")`
		c.topic(orders)
		if created := c.subscribe(billing, &rest.Subscription{Filter: filter}); created.Filter != filter {
			c.t.Errorf("created %+v", created)
		}
		subs := c.Projects.Subscriptions
		ids := c.publish("a", "b", "c", "dd", "e")
		got := c.pull(billing)
		if len(got) != 2 || got[0].Message.MessageId != ids[1] || got[1].Message.MessageId != ids[3] {
			c.t.Errorf("pulled %v", got)
		}
		refused(c, subs.Create("projects/p/subscriptions/bad", &rest.Subscription{Topic: orders, Filter: "attributes:a OR attributes:b AND attributes:c"}),
			400, "INVALID_ARGUMENT", "filter: unexpected AND at 30", "parentheses")
		refused(c, subs.Create("projects/p/subscriptions/bad", &rest.Subscription{Topic: orders, Filter: `attributes.a = "` + strings.Repeat("x", 250) + `"`}),
			400, "INVALID_ARGUMENT", "filter", "256")
		refused(c, subs.Patch(billing, &rest.UpdateSubscriptionRequest{Subscription: &rest.Subscription{Filter: "attributes:x"}, UpdateMask: "filter"}),
			400, "INVALID_ARGUMENT", "filter cannot be changed")
		if got := ok(c, subs.Get(billing)).Filter; got != filter {
			c.t.Errorf("it reads %s", got)
		}
	})
}

// Nor does Google's gRPC client, over several streams, among many messages.
func TestGRPCFilters(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		const n, filter = 5_000, `attributes.n = "17" OR hasPrefix(attributes.n, "49")`
		c.topic(orders)
		if created := c.subscribe(&pubsubpb.Subscription{Filter: filter}); created.Filter != filter {
			c.Errorf("created %v", created)
		}
		want := map[string]bool{}
		for i := range n {
			if text := strconv.Itoa(i); text == "17" || strings.HasPrefix(text, "49") {
				want[text] = true
			}
		}
		c.publishMany(n)
		var mu sync.Mutex
		got := map[string]bool{}
		settings := pubsub.DefaultReceiveSettings
		settings.NumGoroutines = 3
		c.receive(billing, settings, func(m *pubsub.Message) bool {
			m.Ack()
			mu.Lock()
			defer mu.Unlock()
			got[m.Attributes["n"]] = true
			return len(got) >= len(want)
		})
		if !maps.Equal(got, want) {
			c.Errorf("got %v, want %v", got, want)
		}
		_, err := c.SubscriptionAdminClient.UpdateSubscription(c.ctx, &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: billing, Filter: "attributes:x"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"filter"}},
		})
		c.fails(err, codes.InvalidArgument, "filter cannot be changed")
		_, err = c.SubscriptionAdminClient.CreateSubscription(c.ctx, &pubsubpb.Subscription{Name: billing + "2", Topic: orders, Filter: "data:x"})
		c.fails(err, codes.InvalidArgument, "filter: unexpected data at 1")
	})
}
