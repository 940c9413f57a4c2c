package proof

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

var quiet = slog.New(slog.DiscardHandler)

// Servers that need the first key in the same moment agree on one.
func TestServersAgreeOnTheFirstKey(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	var all sync.WaitGroup
	sets := make([]string, 4)
	for i := range sets {
		all.Go(func() {
			k := NewKeys(store, quiet)
			if err := k.Open(t.Context()); err != nil {
				t.Error(err)
				return
			}
			text, err := k.PublicKeys(t.Context())
			if err != nil {
				t.Error(err)
			}
			sets[i] = string(text)
		})
	}
	all.Wait()
	for _, set := range sets {
		if set != sets[0] || set == "" {
			t.Errorf("one has %s, another %s", set, sets[0])
		}
	}
}

// A server at which nobody asks for tokens makes no key.
func TestNoKeyIsMadeForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		keysOn(t, store)
		time.Sleep(time.Hour)
		if text, err := store.SigningKeys(t.Context()); text != "" || err != nil {
			t.Errorf("there are keys (%v)", err)
		}
	})
}

// failingRing is a KeyRing that can be away.
type failingRing struct {
	KeyRing
	away  atomic.Bool
	reads atomic.Int64
}

func (f *failingRing) SigningKeys(ctx context.Context) (string, error) {
	f.reads.Add(1)
	if f.away.Load() {
		return "", errors.New("away")
	}
	return f.KeyRing.SigningKeys(ctx)
}

// What is known goes on without the store; what is not is UNAVAILABLE.
func TestKeysOutliveTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := &failingRing{KeyRing: memory.New(memory.Options{})}
		ring.away.Store(true)
		k := keysOn(t, ring)
		if _, err := k.PublicKeys(t.Context()); subscriptions.CodeOf(err) != subscriptions.Unavailable {
			t.Errorf("without a store: %v", err)
		}
		ring.away.Store(false)
		before := published(t, k)
		ring.away.Store(true)
		time.Sleep(48 * time.Hour)
		if after := published(t, k); len(after.Keys) != 1 || after.Keys[0].KeyID != before.Keys[0].KeyID {
			t.Error("the keys are gone")
		}
		reads := ring.reads.Load()
		if _, _, err := k.signer(t.Context(), time.Now()); err != nil || ring.reads.Load() != reads {
			t.Errorf("to sign takes the store (%v)", err)
		}
	})
}

func TestDamagedRings(t *testing.T) {
	t.Parallel()
	k := NewKeys(memory.New(memory.Options{}), quiet)
	if err := k.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	good := k.known.Load().stored
	if _, err := parseRing(good); err != nil {
		t.Fatal(err)
	}
	small := ring{Keys: []signingKey{{time.Now(), jose.JSONWebKey{Key: []byte("0123456789abcdef"), KeyID: "x"}}}}
	symmetric, err := small.text()
	if err != nil {
		t.Fatal(err)
	}
	twice, err := ring{Keys: append(k.known.Load().Keys, k.known.Load().Keys...)}.text()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":         {"hunter2", "no ring"},
		"cut off":         {good[:len(good)/2], "no ring"},
		"a later version": {strings.Replace(good, `"version": 1`, `"version": 2`, 1), "newer"},
		"no keys":         {`{"version": 1, "keys": []}`, "0 keys"},
		"a shared secret": {symmetric, "not an RSA key"},
		"no key id":       {strings.Replace(good, `"kid"`, `"x"`, 1), "not an RSA key"},
		"out of order":    {twice, "does not sign after"},
	} {
		_, err := parseRing(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
