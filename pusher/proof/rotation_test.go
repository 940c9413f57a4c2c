package proof

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"postrider/storage/memory"
)

// keysOn are the keys of one server, looked after until the bubble ends.
func keysOn(t *testing.T, ring KeyRing) *Keys {
	t.Helper()
	k := NewKeys(ring, slog.New(slog.NewTextHandler(t.Output(), nil)))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return k
}

func published(t *testing.T, k *Keys) (set jose.JSONWebKeySet) {
	t.Helper()
	text, err := k.PublicKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	for _, key := range set.Keys {
		if !key.IsPublic() {
			t.Fatal("a private key is published")
		}
	}
	return set
}

// verify checks a token as a receiver that knows these keys.
func verify(t *testing.T, token string, set jose.JSONWebKeySet) (c claims, keyID string) {
	t.Helper()
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	keyID = parsed.Headers[0].KeyID
	if err := parsed.Claims(set, &c); err != nil {
		t.Fatalf("a token of the key %s does not verify by %d published keys: %v", keyID, len(set.Keys), err)
	}
	return c, keyID
}

// Two months of two servers and a receiver that fetches keys from the second, and keeps them for an hour: whatever the first
// signs is good by the keys that the receiver has, and by those it may fetch until the token expires.
func TestRotationIsNeverNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		issuer := NewIssuer("https://issuer.example", keysOn(t, store))
		other := keysOn(t, store)
		keys := map[string]bool{}
		old := published(t, other)
		b := &bearer{issuer: issuer, email: "a@example.com", audience: "x"}
		for hour := range 65 * 24 {
			token, err := b.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c, keyID := verify(t, token, old)
			keys[keyID] = true
			left := time.Until(time.Unix(c.Expiry, 0))
			if left < renewBefore-time.Minute {
				t.Fatalf("in hour %d a token is used that has %v left", hour, left)
			}
			time.Sleep(left)
			verify(t, token, published(t, other))
			time.Sleep(time.Hour - left)
			if old = published(t, other); len(old.Keys) > 2 {
				t.Fatalf("in hour %d %d keys are published", hour, len(old.Keys))
			}
		}
		if len(keys) != 3 {
			t.Errorf("%d keys have signed in 65 days, want 3", len(keys))
		}
	})
}

// A key is known a day before it signs, and until an hour after its last token expired.
func TestTheLifeOfAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keysOn(t, memory.New(memory.Options{}))
		began := time.Now()
		var events []string
		var at []time.Duration
		last := ""
		for time.Since(began) < 32*24*time.Hour {
			set := published(t, k)
			_, signs, err := k.signer(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			now := ""
			for _, key := range set.Keys {
				if key.KeyID == signs {
					now += "*"
				} else {
					now += "-"
				}
			}
			if now != last {
				last, events, at = now, append(events, now), append(at, time.Since(began).Round(time.Hour))
			}
			time.Sleep(20 * time.Minute)
		}
		day := 24 * time.Hour
		want := []time.Duration{0, 29 * day, 30 * day, 30*day + 2*time.Hour}
		if len(events) != 4 || events[0] != "*" || events[1] != "*-" || events[2] != "-*" || events[3] != "*" {
			t.Fatalf("keys went %v at %v", events, at)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("%s after %v, want %v", events[i], at[i], want[i])
			}
		}
	})
}

// Servers that were away when the next key was due still let it be known for a day.
func TestALateKeyIsKnownBeforeItSigns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		if err := NewKeys(store, slog.New(slog.DiscardHandler)).Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * 24 * time.Hour)
		k := keysOn(t, store)
		first := published(t, k)
		_, signs, err := k.signer(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(first.Keys) != 2 || signs != first.Keys[0].KeyID {
			t.Errorf("%d keys, of which %s signs", len(first.Keys), signs)
		}
		time.Sleep(knownBefore - 5*time.Minute)
		if _, still, _ := k.signer(t.Context(), time.Now()); still != signs {
			t.Error("the new key signs within a day")
		}
		time.Sleep(10 * time.Minute)
		if _, now, _ := k.signer(t.Context(), time.Now()); now != first.Keys[1].KeyID {
			t.Error("the new key does not sign after a day")
		}
	})
}

// Whoever throws the keys away gets new ones everywhere within a minute or so, and no token of the old ones is used any more.
func TestKeysThatWereThrownAwaySignNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		a, b := keysOn(t, store), keysOn(t, store)
		tokens := &bearer{issuer: NewIssuer("https://issuer.example", a), email: "a@example.com", audience: "x"}
		before, err := tokens.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		published(t, b)
		text, err := store.SigningKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := store.ReplaceSigningKeys(t.Context(), text, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		after, err := tokens.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		verify(t, after, published(t, b))
		if after == before || len(published(t, a).Keys) != 1 {
			t.Error("the old key is still in use")
		}
	})
}
