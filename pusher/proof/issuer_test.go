package proof

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

const (
	testEndpoint = "https://receiver.example/push?token=x"
	testEmail    = "pusher@example.com"
)

func tokenSubscription(audience string) subscriptions.Subscription {
	return subscriptions.Subscription{Push: &subscriptions.PushConfig{
		Endpoint: testEndpoint, Token: &subscriptions.OIDCToken{Email: testEmail, Audience: audience},
	}}
}

func bearerOf(t *testing.T, p *Prover) string {
	t.Helper()
	h, err := p.Header(t.Context(), subscriptions.MessageID{Milli: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		t.Fatalf("the headers are %v", h)
	}
	return token
}

// The claims are those of Google's push, each of Google's type.
func TestClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := keysOn(t, memory.New(memory.Options{}))
		issuer := NewIssuer("https://issuer.example/pubsub", keys)
		for audience, want := range map[string]string{"": testEndpoint, "me": "me"} {
			token := bearerOf(t, Of(tokenSubscription(audience), issuer))
			verify(t, token, published(t, keys))
			parts := strings.Split(token, ".")
			var header, got map[string]any
			for i, into := range []*map[string]any{&header, &got} {
				text, err := base64.RawURLEncoding.DecodeString(parts[i])
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(text, into); err != nil {
					t.Fatal(err)
				}
			}
			if header["alg"] != "RS256" || header["typ"] != "JWT" || header["kid"] != published(t, keys).Keys[0].KeyID || len(header) != 3 {
				t.Errorf("the header is %v", header)
			}
			now := float64(time.Now().Unix())
			for claim, value := range map[string]any{
				"iss": "https://issuer.example/pubsub", "aud": want, "sub": testEmail, "azp": testEmail, "email": testEmail,
				"email_verified": true, "iat": now - 10, "exp": now - 10 + 3600,
			} {
				if got[claim] != value {
					t.Errorf("%s is %v, want %v", claim, got[claim], value)
				}
			}
			if len(got) != 8 {
				t.Errorf("the claims are %v", got)
			}
		}
	})
}

// One token serves many pushes, until ten minutes before it expires.
func TestATokenIsKeptUntilNearItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := Of(tokenSubscription(""), NewIssuer("https://issuer.example", keysOn(t, memory.New(memory.Options{}))))
		first := bearerOf(t, p)
		time.Sleep(49*time.Minute + 40*time.Second)
		if bearerOf(t, p) != first {
			t.Error("renewed too early")
		}
		time.Sleep(20 * time.Second)
		if bearerOf(t, p) == first {
			t.Error("not renewed")
		}
	})
}

func TestWithoutAnIssuerNothingIsPushed(t *testing.T) {
	t.Parallel()
	if h, err := Of(tokenSubscription(""), nil).Header(t.Context(), subscriptions.MessageID{}, nil); err == nil {
		t.Errorf("proved by %v", h)
	}
}

func TestProvesKnowsTokens(t *testing.T) {
	t.Parallel()
	sub := tokenSubscription("")
	p := Of(sub, nil)
	elsewhere, meant := tokenSubscription(""), tokenSubscription("me")
	elsewhere.Push.Endpoint += "2"
	for _, other := range []subscriptions.Subscription{elsewhere, meant, {}, {Push: &subscriptions.PushConfig{Endpoint: testEndpoint}}} {
		if p.Proves(other) || Of(other, nil).Proves(sub) {
			t.Errorf("%+v is taken for %+v", other.Push, sub.Push)
		}
	}
	if !p.Proves(sub) || !Of(meant, nil).Proves(meant) {
		t.Error("its own subscription is not known")
	}
}
