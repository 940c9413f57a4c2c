package conformance

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"google.golang.org/api/idtoken"
	"google.golang.org/api/option"
	pubsub "google.golang.org/api/pubsub/v1"

	"postrider/pusher"
	"postrider/pusher/proof"
	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// startIssuing runs a whole server that signs, by default as the issuer of its own address, and returns that.
func startIssuing(t *testing.T, store subscriptions.Store, issuerURL string) string {
	t.Helper()
	service := subscriptions.NewService(store, subscriptions.Options{})
	over := httptest.NewUnstartedServer(nil)
	address := "http://" + over.Listener.Addr().String()
	keys := proof.NewKeys(store, slog.New(slog.DiscardHandler))
	issuer := proof.NewIssuer(cmp.Or(issuerURL, address), keys)
	over.Config.Handler = server.New(service, server.Options{Issuer: issuer})
	over.Start()
	pushes := pusher.New(service, pusher.Options{Issuer: issuer})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func() error{
		func() error { return service.Run(ctx) },
		func() error { return keys.Run(ctx) },
		func() error { return pushes.Run(ctx, ctx) },
	} {
		running.Go(func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { stop(); running.Wait(); over.Close() })
	return address
}

// pushed is one push as it came.
type pushed struct {
	header http.Header
	body   []byte
}

// TestPushesAreProved has pushes verified by who knows nothing of us: the library that OpenID Connect receivers in Go use, by
// discovery, and the one of Standard Webhooks. A library of Google's for its own tokens reads the claims.
func TestPushesAreProved(t *testing.T) {
	t.Parallel()
	issuer := startIssuing(t, memory.New(memory.Options{}), "")
	pushes := make(chan pushed, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		pushes <- pushed{r.Header.Clone(), body}
	}))
	t.Cleanup(endpoint.Close)
	service, err := pubsub.NewService(t.Context(), option.WithEndpoint(issuer), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = service.Projects.Topics.Create("projects/p/topics/orders", &pubsub.Topic{}).Do()
	must(err)
	_, err = service.Projects.Subscriptions.Create("projects/p/subscriptions/billing", &pubsub.Subscription{
		Topic: "projects/p/topics/orders",
		PushConfig: &pubsub.PushConfig{
			PushEndpoint: endpoint.URL, OidcToken: &pubsub.OidcToken{ServiceAccountEmail: "pusher@example.com", Audience: "https://receiver.example"},
		},
	}).Do()
	must(err)
	const oldSecret, newSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
	patch, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, issuer+"/v1/projects/p/subscriptions/billing?updateMask=postrider.webhookSecrets",
		strings.NewReader(fmt.Sprintf(`{"subscription": {"postrider": {"webhookSecrets": [{"secret": "%s"}, {"secret": "%s"}]}}}`, newSecret, oldSecret)))
	must(err)
	resp, err := http.DefaultClient.Do(patch)
	must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	published, err := service.Projects.Topics.Publish("projects/p/topics/orders", &pubsub.PublishRequest{
		Messages: []*pubsub.PubsubMessage{{Data: "aGVsbG8="}},
	}).Do()
	must(err)
	var push pushed
	select {
	case push = <-pushes:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was pushed")
	}

	provider, err := oidc.NewProvider(t.Context(), issuer)
	must(err)
	raw, _ := strings.CutPrefix(push.header.Get("Authorization"), "Bearer ")
	token, err := provider.Verifier(&oidc.Config{ClientID: "https://receiver.example"}).Verify(t.Context(), raw)
	must(err)
	var claims struct {
		Email         string `json:"email"`
		EmailVerified bool   `json:"email_verified"`
	}
	must(token.Claims(&claims))
	if claims.Email != "pusher@example.com" || !claims.EmailVerified || token.Expiry.Sub(token.IssuedAt) != time.Hour {
		t.Errorf("%+v, %+v", claims, token)
	}
	if _, err := provider.Verifier(&oidc.Config{ClientID: "another"}).Verify(t.Context(), raw); err == nil {
		t.Error("anybody takes the token")
	}
	payload, err := idtoken.ParsePayload(raw)
	must(err)
	if payload.Issuer != issuer || payload.Audience != "https://receiver.example" || payload.Claims["email"] != "pusher@example.com" ||
		payload.Expires-payload.IssuedAt != 3600 || payload.Subject == "" || payload.Claims["azp"] == nil {
		t.Errorf("%+v", payload)
	}

	for _, secret := range []string{oldSecret, newSecret} {
		webhook, err := standardwebhooks.NewWebhook(secret)
		must(err)
		if err := webhook.Verify(push.body, push.header); err != nil {
			t.Errorf("signature: %v of %v", err, push.header)
		}
		if err := webhook.Verify(append(push.body, ' '), push.header); err == nil {
			t.Error("another body has the same signature")
		}
	}
	if push.header.Get("webhook-id") != published.MessageIds[0] {
		t.Errorf("webhook-id is %s, not %s", push.header.Get("webhook-id"), published.MessageIds[0])
	}
}

// TestAReceiverLearnsOfNewKeys has go-oidc know the issuer through a load balancer, and meet a token of a key that it has not
// seen. Each token is signed by one server and verified by the keys that another publishes.
func TestAReceiverLearnsOfNewKeys(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	var behind atomic.Value // URL
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, err := url.Parse(behind.Load().(string))
		if err != nil {
			t.Error(err)
			return
		}
		r.Host = "pubsub.example.com" // as its clients know it
		httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
	}))
	t.Cleanup(balancer.Close)
	behind.Store(startIssuing(t, store, balancer.URL))
	provider, err := oidc.NewProvider(t.Context(), balancer.URL)
	if err != nil {
		t.Fatal(err)
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: "x"})
	verify := func() {
		t.Helper()
		signing := proof.NewKeys(store, slog.New(slog.DiscardHandler))
		p := proof.Of(subscriptions.Subscription{Push: &subscriptions.PushConfig{
			Endpoint: "https://h/", Token: &subscriptions.OIDCToken{Email: "a@example.com", Audience: "x"},
		}}, proof.NewIssuer(balancer.URL, signing))
		h, err := p.Header(t.Context(), subscriptions.MessageID{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verifier.Verify(t.Context(), strings.TrimPrefix(h.Get("Authorization"), "Bearer ")); err != nil {
			t.Error(err)
		}
	}
	verify()
	text, err := store.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.ReplaceSigningKeys(t.Context(), text, ""); err != nil {
		t.Fatal(err)
	}
	behind.Store(startIssuing(t, store, balancer.URL))
	verify()
}
