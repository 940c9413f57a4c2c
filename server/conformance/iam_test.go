package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/pubsub/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// access are Google's REST calls about one kind of resource.
type access struct {
	get  func(string) call[*pubsub.Policy]
	set  func(string, *pubsub.SetIamPolicyRequest) call[*pubsub.Policy]
	test func(string, *pubsub.TestIamPermissionsRequest) call[*pubsub.TestIamPermissionsResponse]
}

func (c client) access() map[string]access {
	topics, subs, snapshots, schemas := c.Projects.Topics, c.Projects.Subscriptions, c.Projects.Snapshots, c.Projects.Schemas
	type (
		policy = call[*pubsub.Policy]
		tested = call[*pubsub.TestIamPermissionsResponse]
		set    = *pubsub.SetIamPolicyRequest
		test   = *pubsub.TestIamPermissionsRequest
	)
	return map[string]access{
		"topics": {
			func(n string) policy { return topics.GetIamPolicy(n).OptionsRequestedPolicyVersion(3) },
			func(n string, r set) policy { return topics.SetIamPolicy(n, r) },
			func(n string, r test) tested { return topics.TestIamPermissions(n, r) },
		},
		"subscriptions": {
			func(n string) policy { return subs.GetIamPolicy(n) },
			func(n string, r set) policy { return subs.SetIamPolicy(n, r) },
			func(n string, r test) tested { return subs.TestIamPermissions(n, r) },
		},
		"snapshots": {
			func(n string) policy { return snapshots.GetIamPolicy(n) },
			func(n string, r set) policy { return snapshots.SetIamPolicy(n, r) },
			func(n string, r test) tested { return snapshots.TestIamPermissions(n, r) },
		},
		"schemas": {
			func(n string) policy { return schemas.GetIamPolicy(n) },
			func(n string, r set) policy { return schemas.SetIamPolicy(n, r) },
			func(n string, r test) tested { return schemas.TestIamPermissions(n, r) },
		},
	}
}

// What exists has an empty policy and grants everything; what does not is missing, whatever is asked.
func TestClientPolicies(t *testing.T) {
	withClient(t, func(c client) {
		c.topic(orders)
		c.subscribe(billing, &pubsub.Subscription{})
		there := map[string]string{"topics": orders, "subscriptions": billing}
		asked := &pubsub.TestIamPermissionsRequest{Permissions: []string{"pubsub.topics.publish", "pubsub.topics.get"}}
		empty := &pubsub.SetIamPolicyRequest{Policy: &pubsub.Policy{Etag: "YQ==", Version: 3}}
		bound := &pubsub.SetIamPolicyRequest{Policy: &pubsub.Policy{Bindings: []*pubsub.Binding{{Role: "roles/pubsub.viewer", Members: []string{"allUsers"}}}}}
		for kind, a := range c.access() {
			missing := "projects/p/" + kind + "/missing"
			refused(c, a.get(missing), 404, "NOT_FOUND", missing)
			refused(c, a.set(missing, bound), 404, "NOT_FOUND", missing)
			if got := ok(c, a.test(missing, asked)); len(got.Permissions) > 0 {
				c.t.Errorf("%s: granted %v on nothing", kind, got.Permissions)
			}
			name := there[kind]
			if name == "" {
				continue
			}
			for _, policy := range []*pubsub.Policy{ok(c, a.get(name)), ok(c, a.set(name, empty))} {
				if len(policy.Bindings) > 0 || policy.Etag != "" || policy.Version != 0 {
					c.t.Errorf("%s: the policy is %+v", kind, policy)
				}
			}
			refused(c, a.set(name, bound), 501, "UNIMPLEMENTED", "policy.bindings")
			if got := ok(c, a.test(name, asked)); !slices.Equal(got.Permissions, asked.Permissions) {
				c.t.Errorf("%s: granted %v", kind, got.Permissions)
			}
		}
	})
}

// TestSamePolicies asks about policies by REST and by gRPC.
func TestSamePolicies(t *testing.T) {
	t.Parallel()
	addr := serveGRPC(t, memory.New(memory.Options{}))
	rest := server.New(subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{}), server.Options{})
	b := both{t, rest, connectGRPC(t, addr)}
	b.same(orders, "PUT", orders, "{}", &pubsubpb.Topic{}, func(ctx context.Context) (proto.Message, error) {
		return b.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: orders})
	})
	b.same(billing, "PUT", billing, `{"topic": "`+orders+`"}`, &pubsubpb.Subscription{}, func(ctx context.Context) (proto.Message, error) {
		return b.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{Name: billing, Topic: orders})
	})
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	b.must(err)
	defer conn.Close()
	iam := iampb.NewIAMPolicyClient(conn)
	bound := &iampb.Policy{Bindings: []*iampb.Binding{{Role: "r", Members: []string{"allUsers"}}}}
	for _, name := range []string{orders, billing, "projects/p/topics/missing", "projects/p/subscriptions/x", "projects/p/snapshots/snap", "projects/p/schemas/sch"} {
		b.same("get "+name, "GET", name+":getIamPolicy", "", &iampb.Policy{}, func(ctx context.Context) (proto.Message, error) {
			return iam.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: name})
		})
		b.same("empty "+name, "POST", name+":setIamPolicy", `{"policy": {}}`, &iampb.Policy{}, func(ctx context.Context) (proto.Message, error) {
			return iam.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: name, Policy: &iampb.Policy{}})
		})
		b.same("bind "+name, "POST", name+":setIamPolicy", `{"policy": {"bindings": [{"role": "r", "members": ["allUsers"]}]}}`, &iampb.Policy{}, func(ctx context.Context) (proto.Message, error) {
			return iam.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: name, Policy: bound})
		})
		b.same("test "+name, "POST", name+":testIamPermissions", `{"permissions": ["a", "b"]}`, &iampb.TestIamPermissionsResponse{}, func(ctx context.Context) (proto.Message, error) {
			return iam.TestIamPermissions(ctx, &iampb.TestIamPermissionsRequest{Resource: name, Permissions: strings.Fields("a b")})
		})
	}
}
