package main

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// dialGRPC connects to a server by gRPC until the test ends.
func dialGRPC(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// streamFrom opens a StreamingPull of project demo.
func streamFrom(t *testing.T, addr, subscription string) grpc.BidiStreamingClient[pubsubpb.StreamingPullRequest, pubsubpb.StreamingPullResponse] {
	t.Helper()
	stream, err := pubsubpb.NewSubscriberClient(dialGRPC(t, addr)).StreamingPull(t.Context())
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
		stream := streamFrom(t, a.Addr(), "billing")
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

// Streams end first when the server stops, with the status that makes clients connect again, and hold up nothing.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	stream := streamFrom(t, a.Addr(), "billing")
	start := time.Now()
	a.stop()
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("the stream ended with %v", err)
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("the stop took %v", took)
	}
}

// Which protocol a connection speaks may come in pieces, and late.
func TestFirstBytesInPieces(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	silent := dialTCP(t, a.Addr())
	for _, pieces := range [][]string{
		{"P", "U", "T /v1/projects/demo/topics/orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"},
		{"PR", "OPFIND / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		{"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
	} {
		c := dialTCP(t, a.Addr())
		for _, piece := range pieces {
			if _, err := io.WriteString(c, piece); err != nil {
				t.Fatal(err)
			}
		}
		head := make([]byte, len("HTTP/1.1"))
		if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1" {
			t.Errorf("%q: answered %q, %v", pieces, head, err)
		}
	}
	c := dialTCP(t, a.Addr())
	for _, piece := range []string{"P", "RI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00\x04\x00\x00\x00\x00\x00"} {
		if _, err := io.WriteString(c, piece); err != nil {
			t.Fatal(err)
		}
	}
	frame := make([]byte, 9)
	if _, err := io.ReadFull(c, frame); err != nil || frame[3] != 4 { // SETTINGS
		t.Errorf("HTTP/2 was answered with %x, %v", frame, err)
	}
	a.stop()
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("a silent connection survived the stop")
	}
}

func dialTCP(t *testing.T, addr string) net.Conn {
	t.Helper()
	var d net.Dialer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}
