package proof

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

const (
	secretA subscriptions.WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretB subscriptions.WebhookSecret = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
)

// The example that the libraries of Standard Webhooks are tested with.
func TestSignatureIsThatOfTheStandard(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	signWebhook(h, [][]byte{secretA.Key()}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 999), []byte(`{"test": 2432232314}`))
	for name, want := range map[string]string{
		"webhook-id":        "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"webhook-timestamp": "1614265330",
		"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// While a secret is replaced, who knows either is content; each attempt has a time of its own.
func TestEachSecretSigns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		header := func(secrets ...subscriptions.WebhookSecret) http.Header {
			p := Of(subscriptions.Subscription{WebhookSecrets: secrets}, nil)
			h, err := p.Header(t.Context(), subscriptions.MessageID{Milli: 1, Seq: 2}, []byte("body"))
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		signature := func(h http.Header) string { return h.Get("webhook-signature") }
		a, b := signature(header(secretA)), signature(header(secretB))
		if both := signature(header(secretB, secretA)); both != b+" "+a || a == b {
			t.Errorf("%q, want %q and %q", both, b, a)
		}
		first := header(secretA)
		time.Sleep(time.Second)
		second := header(secretA)
		if first.Get("webhook-id") != second.Get("webhook-id") || first.Get("webhook-timestamp") == second.Get("webhook-timestamp") ||
			signature(first) == signature(second) {
			t.Errorf("attempts have %v and %v", first, second)
		}
		if h := header(); h != nil {
			t.Errorf("without a secret: %v", h)
		}
	})
}

func TestProves(t *testing.T) {
	t.Parallel()
	sub := subscriptions.Subscription{WebhookSecrets: []subscriptions.WebhookSecret{secretA}}
	changed := subscriptions.Subscription{WebhookSecrets: []subscriptions.WebhookSecret{secretB, secretA}}
	if p := Of(sub, nil); !p.Proves(sub) || p.Proves(changed) || p.Proves(subscriptions.Subscription{}) {
		t.Error("a prover does not know its subscription")
	}
	if p := new(Prover); !p.Proves(subscriptions.Subscription{}) || p.Proves(sub) {
		t.Error("one that proves nothing does not know it")
	}
}

func TestNoSecretIsInAHeader(t *testing.T) {
	t.Parallel()
	h, err := Of(subscriptions.Subscription{WebhookSecrets: []subscriptions.WebhookSecret{secretA}}, nil).
		Header(t.Context(), subscriptions.MessageID{Milli: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range h {
		if strings.Contains(strings.Join(values, " "), "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") {
			t.Errorf("%s: %v", name, values)
		}
	}
}
