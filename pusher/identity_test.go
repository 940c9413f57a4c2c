package pusher

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"postrider/pusher/proof"
	"postrider/pusher/proof/prooftest"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// Two subscriptions push to the same endpoint, over connections that are kept. Each shows its own certificate, and one that has
// none is turned away.
func TestEachSubscriptionShowsItsOwnCertificate(t *testing.T) {
	authority, dir := prooftest.NewAuthority(t), t.TempDir()
	authority.Write(dir, "billing")
	authority.Write(dir, "shipping")
	certificates, err := proof.OpenCertificates(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 100) // PATH NAME
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		shown <- r.URL.Path + " " + r.TLS.PeerCertificates[0].Subject.CommonName
	}))
	s.TLS = authority.ServerTLS(tls.RequireAndVerifyClientCert)
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)

	trusting := &tls.Config{RootCAs: authority.Pool}
	service := subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{ClientCertificates: certificates})
	manager := New(service, Options{
		Transport: NewTransport(TransportOptions{TLS: trusting}),
		TransportAs: func(name string) (http.RoundTripper, error) {
			config, err := certificates.Identify(trusting, name)
			return NewTransport(TransportOptions{TLS: config}), err
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = service.Run(ctx) })
	running.Go(func() { _ = manager.Run(ctx, ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(service.CreateTopic(t.Context(), subscriptions.Topic{Name: testTopic}))
	create := func(certificate string) error {
		_, err := service.CreateSubscription(t.Context(), subscriptions.Subscription{
			Name:  subscriptions.SubscriptionName{Project: "p", ID: "sub-" + certificate},
			Topic: testTopic, ClientCertificate: certificate,
			Push: &subscriptions.PushConfig{Endpoint: s.URL + "/" + certificate},
		})
		return err
	}
	for _, certificate := range []string{"billing", "shipping", ""} {
		must(nil, create(certificate))
	}
	if err := create("unknown"); subscriptions.CodeOf(err) != subscriptions.InvalidArgument {
		t.Errorf("a certificate that is not there: %v", err)
	}
	const messages = 10
	for range messages {
		must(service.Publish(t.Context(), testTopic, []subscriptions.Message{{Data: []byte("m")}}))
	}
	seen := map[string]int{}
	for range 2 * messages {
		select {
		case one := <-shown:
			seen[one]++
		case <-time.After(30 * time.Second):
			t.Fatalf("only %v were pushed", seen)
		}
	}
	if seen["/billing billing"] != messages || seen["/shipping shipping"] != messages {
		t.Errorf("pushed %v", seen)
	}
}
