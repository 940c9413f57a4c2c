package main

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func beyondLoopback(c *Config) { c.Listen, c.AllowUnauthenticated = "0.0.0.0:0", true }

// An address inside is refused with the reason wherever an endpoint can be set, over REST and over gRPC.
// (Case 19 of the field.)
func TestPushesIntoTheNetworkAreRefused(t *testing.T) {
	t.Parallel()
	a := startApp(t, func(c *Config) {
		beyondLoopback(c)
		c.PushAllow = []string{"10.1.0.0/16"}
	})
	_, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:" + port
	c := client(t, at)
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", "http://10.1.2.3/")
	for _, endpoint := range []string{"https://10.2.0.1/", "http://127.0.0.1:" + port + "/", "https://169.254.169.254/latest/meta-data", "http://93.184.215.14/"} {
		for _, args := range [][]string{
			{"subscriptions", "create", "other", "--topic", "orders", "--push-endpoint", endpoint},
			{"subscriptions", "update", "billing", "--push-endpoint", endpoint},
			{"subscriptions", "modify-push-config", "billing", "--push-endpoint", endpoint},
		} {
			if status, _, said := c.try("", args...); status == 0 || !strings.Contains(said, "INVALID_ARGUMENT") || !strings.Contains(said, "--push-allow") {
				t.Errorf("%v: exit status %d, %s", args, status, said)
			}
		}
		grpcRefuses(t, at, endpoint)
	}
	if out := c.run("subscriptions", "get", "billing"); !strings.Contains(out, "push to http://10.1.2.3/") {
		t.Errorf("what was refused had an effect:\n%s", out)
	}
}

func grpcRefuses(t *testing.T, at, endpoint string) {
	t.Helper()
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	subscriber := pubsubpb.NewSubscriberClient(conn)
	const billing = "projects/demo/subscriptions/billing"
	push := &pubsubpb.PushConfig{PushEndpoint: endpoint}
	for what, call := range map[string]func(context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := subscriber.CreateSubscription(ctx, &pubsubpb.Subscription{Name: billing + "2", Topic: "projects/demo/topics/orders", PushConfig: push})
			return err
		},
		"update": func(ctx context.Context) error {
			_, err := subscriber.UpdateSubscription(ctx, &pubsubpb.UpdateSubscriptionRequest{
				Subscription: &pubsubpb.Subscription{Name: billing, PushConfig: push}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"push_config"}},
			})
			return err
		},
		"modify": func(ctx context.Context) error {
			_, err := subscriber.ModifyPushConfig(ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: push})
			return err
		},
	} {
		if err := call(t.Context()); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "--push-allow") {
			t.Errorf("%s %s by gRPC: %v", what, endpoint, err)
		}
	}
}

// A server on loopback pushes to loopback, and to nothing else inside.
func TestALaptopJustWorks(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	e := newEndpoint(t, always(http.StatusOK))
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", strings.Replace(e.url, "127.0.0.1", "localhost", 1))
	c.run("publish", "orders", "hello")
	if data, _ := e.next(); data != "hello" {
		t.Errorf("pushed %q", data)
	}
	if status, _, said := c.try("", "subscriptions", "create", "other", "--topic", "orders", "--push-endpoint", "http://192.168.0.1/"); status == 0 {
		t.Errorf("created: %s", said)
	}
}

// An endpoint with a certificate of a private authority is pushed to when the file names the authority.
func TestPushToAPrivateAuthority(t *testing.T) {
	t.Parallel()
	pushed := make(chan string, 10)
	s := httptest.NewTLSServer(receiver(func(p push) int {
		pushed <- string(p.Message.Data)
		return http.StatusOK
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	a := startApp(t, func(c *Config) { c.PushCAFile = file })
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", s.URL)
	c.run("publish", "orders", "hello")
	if data := <-pushed; data != "hello" {
		t.Errorf("pushed %q", data)
	}
}

func TestPushFilesThatAreNone(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no PEM\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{empty: "no certificate", filepath.Join(t.TempDir(), "none.pem"): "no such file"} {
		config := Config{Listen: "127.0.0.1:0", PushCAFile: file}
		_, err := newApp(t.Context(), config, newLogger(io.Discard, config))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--push-ca-file") || !errors.As(err, new(usageError)) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The start says where pushes may go, without the proxy's password.
func TestStartSaysWherePushesGo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config       Config
		loopback     bool
		has, has_not string
	}{
		{Config{}, true, "to this machine by http too; --push-allow", "proxy"},
		{Config{}, false, "public https endpoints; --push-allow", "this machine"},
		{Config{PushAllow: []string{"10.0.0.0/8", "*.svc"}}, false, "and to 10.0.0.0/8, *.svc", "this machine"},
		{Config{PushProxy: "http://user:hunter2@proxy.internal:3128"}, false, "through the proxy at proxy.internal:3128", "hunter2"},
	} {
		if text := test.config.pushText(test.loopback); !strings.Contains(text, test.has) || strings.Contains(text, test.has_not) {
			t.Errorf("%+v: %s", test.config, text)
		}
	}
	var log watchedOutput
	config := Config{Listen: "127.0.0.1:0"}
	a, err := newApp(t.Context(), config, newLogger(&log, config))
	if err != nil {
		t.Fatal(err)
	}
	a.announce(t.Context())
	if err := a.close(); err != nil || !strings.Contains(log.String(), "to this machine by http too") {
		t.Errorf("%v: %s", err, log.String())
	}
}
