package conformance

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	pubsubgrpc "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/api/pubsub/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"postrider/cmd/postrider/port"
	"postrider/cmd/postrider/port/porttest"
	"postrider/server"
	"postrider/server/grpcapi"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// serveTLS serves an empty store on one port, as postrider serve does with a certificate, until the test ends.
func serveTLS(t *testing.T) (addr string, clients *tls.Config) {
	t.Helper()
	service := subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{})
	pair := porttest.NewPair(t)
	certificate, err := port.LoadCertificate(pair.CertFile, pair.KeyFile, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	splitter := port.NewSplitter(l, port.Options{TLS: certificate.Config()})
	calls := grpcapi.New(service, grpcapi.Options{})
	rest := &http.Server{Handler: calls.Beside(server.New(service, server.Options{})), Protocols: new(http.Protocols)}
	rest.Protocols.SetHTTP1(true)
	rest.Protocols.SetUnencryptedHTTP2(true)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 4)
	go func() { ended <- splitter.Run() }()
	go func() { ended <- rest.Serve(splitter.REST()) }()
	go func() { ended <- calls.Serve(splitter.GRPC()) }()
	go func() { ended <- service.Run(ctx) }()
	t.Cleanup(func() {
		service.Drain()
		err := errors.Join(splitter.Close(), rest.Shutdown(context.Background()), calls.Shutdown(context.Background()))
		cancel()
		for range cap(ended) {
			if e := <-ended; e != http.ErrServerClosed {
				err = errors.Join(err, e)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), &tls.Config{RootCAs: pair.Roots(t), MinVersion: tls.VersionTLS12}
}

// Google's REST client publishes by HTTP/1.1 and by HTTP/2 what Google's gRPC client gets by a stream, all over TLS on one port.
func TestClientsShareThePortOverTLS(t *testing.T) {
	t.Parallel()
	addr, config := serveTLS(t)
	stream, err := pubsubgrpc.NewClient(t.Context(), "p", option.WithEndpoint(addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(credentials.NewTLS(config.Clone()))), option.WithTelemetryDisabled())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	c := grpcClient{t, t.Context(), stream}
	c.topic(orders)
	c.subscribe(&pubsubpb.Subscription{})

	const each = 50
	wanted := map[string]bool{}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for i := range each {
			wanted[fmt.Sprint(protocol, " ", i)] = true
		}
		go publishOver(t, addr, config, protocol, each)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan string)
	received := make(chan error, 1)
	go func() {
		received <- stream.Subscriber(billing).Receive(ctx, func(_ context.Context, m *pubsubgrpc.Message) {
			m.Ack()
			select {
			case got <- string(m.Data):
			case <-ctx.Done():
			}
		})
	}()
	for len(wanted) > 0 {
		select {
		case data := <-got:
			delete(wanted, data)
		case err := <-received:
			t.Fatalf("ended with %v, without %v", err, wanted)
		}
	}
	cancel()
	c.must(<-received)
}

// publishOver publishes through Google's REST client, by one version of HTTP.
func publishOver(t *testing.T, addr string, config *tls.Config, protocol string, n int) {
	transport := &http.Transport{TLSClientConfig: config.Clone(), Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(protocol == "HTTP/1.1")
	transport.Protocols.SetHTTP2(protocol == "HTTP/2.0")
	defer transport.CloseIdleConnections()
	service, err := pubsub.NewService(t.Context(), option.WithEndpoint("https://"+addr+"/"), option.WithoutAuthentication(),
		option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Error(err)
		return
	}
	for i := range n {
		data := base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(protocol, " ", i)))
		request := &pubsub.PublishRequest{Messages: []*pubsub.PubsubMessage{{Data: data}}}
		if _, err := service.Projects.Topics.Publish(orders, request).Do(); err != nil {
			t.Errorf("%s: %v", protocol, err)
			return
		}
	}
}
