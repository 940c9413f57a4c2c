package grpcapi_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"postrider/server/grpcapi"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

const (
	orders  = "projects/p/topics/orders"
	dead    = "projects/p/topics/dead"
	billing = "projects/p/subscriptions/billing"
)

// rig is a server on an empty store, with a connection to it.
type rig struct {
	*testing.T
	ctx     context.Context
	store   *memory.Store
	service *subscriptions.Service
	server  *grpcapi.Server
	pipe    *bufconn.Listener
	conn    *grpc.ClientConn
	pubsubpb.PublisherClient
	pubsubpb.SubscriberClient
	iam iampb.IAMPolicyClient
}

// run runs a test with a server, in a bubble of its own time.
func run(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		service := subscriptions.NewService(store, subscriptions.Options{})
		r := serve(t, service, grpcapi.Options{})
		r.store, r.service = store, service
		test(r)
	})
}

// connect makes a rig that talks to r's server over a connection of its own. Its dialer may put something in between.
func (r *rig) connect(between func(net.Conn) net.Conn, options ...grpc.DialOption) *rig {
	r.Helper()
	other := *r
	other.dial(between, options...)
	return &other
}

func (r *rig) dial(between func(net.Conn) net.Conn, options ...grpc.DialOption) {
	r.Helper()
	dialer := func(ctx context.Context, _ string) (net.Conn, error) {
		c, err := r.pipe.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		return between(c), nil
	}
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dialer),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(20<<20)))
	var err error
	r.conn, err = grpc.NewClient("passthrough:pipe", options...)
	r.must(err)
	conn := r.conn
	r.Cleanup(func() { _ = conn.Close() })
	r.PublisherClient, r.SubscriberClient = pubsubpb.NewPublisherClient(r.conn), pubsubpb.NewSubscriberClient(r.conn)
	r.iam = iampb.NewIAMPolicyClient(r.conn)
}

// serve serves a backend until the test ends.
func serve(t *testing.T, backend grpcapi.Backend, o grpcapi.Options) *rig {
	t.Helper()
	r := &rig{T: t, ctx: t.Context(), server: grpcapi.New(backend, o), pipe: bufconnListener()}
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(r.pipe) }()
	t.Cleanup(func() {
		_ = r.server.Shutdown(context.Background())
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	r.dial(func(c net.Conn) net.Conn { return c })
	return r
}

// must is for what has to succeed.
func must[T any](r *rig) func(T, error) T {
	return func(v T, err error) T {
		r.Helper()
		if err != nil {
			r.Fatal(err)
		}
		return v
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// refused is for what has to fail with a code and words.
func (r *rig) refused(err error, code codes.Code, words ...string) {
	r.Helper()
	if status.Code(err) != code {
		r.Errorf("got %v, want %v", err, code)
	}
	for _, word := range words {
		if !strings.Contains(status.Convert(err).Message(), word) {
			r.Errorf("the message lacks %q: %v", word, err)
		}
	}
}

func (r *rig) topic(name string) {
	r.Helper()
	must[*pubsubpb.Topic](r)(r.CreateTopic(r.ctx, &pubsubpb.Topic{Name: name}))
}

// subscribe creates billing on orders, with the topic.
func (r *rig) subscribe(s *pubsubpb.Subscription) *pubsubpb.Subscription {
	r.Helper()
	r.topic(orders)
	s.Name, s.Topic = billing, orders
	return must[*pubsubpb.Subscription](r)(r.CreateSubscription(r.ctx, s))
}

func (r *rig) publish(texts ...string) []string {
	r.Helper()
	request := &pubsubpb.PublishRequest{Topic: orders}
	for _, text := range texts {
		request.Messages = append(request.Messages, &pubsubpb.PubsubMessage{Data: []byte(text)})
	}
	return must[*pubsubpb.PublishResponse](r)(r.Publish(r.ctx, request)).MessageIds
}

func (r *rig) pull() []*pubsubpb.ReceivedMessage {
	r.Helper()
	//lint:ignore SA1019 what there is now is what the tests want
	return must[*pubsubpb.PullResponse](r)(r.Pull(r.ctx, &pubsubpb.PullRequest{Subscription: billing, MaxMessages: 100, ReturnImmediately: true})).ReceivedMessages
}

func bufconnListener() *bufconn.Listener { return bufconn.Listen(1 << 20) }

func ackIDs(got []*pubsubpb.ReceivedMessage) []string {
	ids := make([]string, len(got))
	for i, m := range got {
		ids[i] = m.AckId
	}
	return ids
}

func texts(got []*pubsubpb.ReceivedMessage) string {
	out := make([]string, len(got))
	for i, m := range got {
		out[i] = string(m.Message.Data)
	}
	return strings.Join(out, " ")
}
