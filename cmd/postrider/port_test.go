package main

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// dialGRPC connects to a server by gRPC until the test ends.
func dialGRPC(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	return dialGRPCWith(t, addr, insecure.NewCredentials())
}

func dialGRPCWith(t *testing.T, addr string, c credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(addr, grpc.WithTransportCredentials(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// streamFrom opens a StreamingPull of project demo.
func streamFrom(t *testing.T, c *grpc.ClientConn, subscription string) grpc.BidiStreamingClient[pubsubpb.StreamingPullRequest, pubsubpb.StreamingPullResponse] {
	t.Helper()
	stream, err := pubsubpb.NewSubscriberClient(c).StreamingPull(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pubsubpb.StreamingPullRequest{Subscription: "projects/demo/subscriptions/" + subscription, StreamAckDeadlineSeconds: 10}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestRESTAndGRPCShareThePort(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, a *testApp) {
		c := client(t, a.Addr())
		if _, err := pubsubpb.NewPublisherClient(dialGRPC(t, a.Addr())).CreateTopic(t.Context(), &pubsubpb.Topic{Name: "projects/demo/topics/orders"}); err != nil {
			t.Fatal(err)
		}
		c.run("subscriptions", "create", "billing", "--topic", "orders")
		stream := streamFrom(t, dialGRPC(t, a.Addr()), "billing")
		c.run("publish", "orders", "hello")
		got, err := stream.Recv()
		if err != nil || string(got.ReceivedMessages[0].Message.Data) != "hello" {
			t.Fatal(got, err)
		}
		health, err := grpc_health_v1.NewHealthClient(dialGRPC(t, a.Addr())).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil || health.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Error(health, err)
		}
	})
}

// Streams end first when the server stops, with the status that makes clients connect again, and hold up nothing; also those
// that net/http serves.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	a, pair := startTLS(t)
	c := trusting(t, a, pair)
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	streams := map[string]grpc.BidiStreamingClient[pubsubpb.StreamingPullRequest, pubsubpb.StreamingPullResponse]{}
	for name, config := range offers(t, pair) {
		streams[name] = streamFrom(t, dialGRPCWith(t, a.Addr(), credentials.NewTLS(config)), "billing")
	}
	start := time.Now()
	a.stop()
	for name, stream := range streams {
		if _, err := stream.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("%s: the stream ended with %v", name, err)
		}
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("the stop took %v", took)
	}
}
