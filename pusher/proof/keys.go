package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"postrider/subscriptions"
)

// KeyRing is where the text of the ring is kept: a store, so that all servers
// that share it sign with the same keys, or a KeyFile.
type KeyRing interface {
	// SigningKeys returns the text; empty when there is none.
	SigningKeys(context.Context) (string, error)
	// ReplaceSigningKeys puts next in place of was. ABORTED when the text is
	// another.
	ReplaceSigningKeys(ctx context.Context, was, next string) error
}

const (
	// lookEvery is how often the ring is looked at, with a little jitter.
	lookEvery = time.Minute
	// lookTime bounds one look, beside the making of a key.
	lookTime = 10 * time.Second
	// complainEvery is how often a failure is logged that goes on.
	complainEvery = time.Hour
)

// Keys are the signing keys as this server knows them. There are none until a
// token is to be signed or somebody asks for the public keys, since many servers
// never do either.
type Keys struct {
	ring    KeyRing
	log     *slog.Logger
	makeKey func() (jose.JSONWebKey, error)

	mu        sync.Mutex // of a look
	known     atomic.Pointer[knownKeys]
	complaint time.Time // when Run complained last
}

// knownKeys are the keys of one text of the ring.
type knownKeys struct {
	ring
	stored  string
	public  []byte // as a JSON Web Key Set
	signers map[string]jose.Signer
}

// NewKeys makes Keys. They are looked at by need, and by Run.
func NewKeys(ring KeyRing, log *slog.Logger) *Keys {
	return &Keys{ring: ring, log: log, makeKey: newKey}
}

// Open looks at the ring and makes the first key if there is none.
func (k *Keys) Open(ctx context.Context) error { return k.look(ctx, true) }

// Run keeps the keys fresh until ctx ends: those that other servers made become
// known, and the next one is made in time. Without the ring it goes on with what
// it knows.
func (k *Keys) Run(ctx context.Context) error {
	for {
		t := time.NewTimer(lookEvery + rand.N(lookEvery/10))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil
		}
		if err := k.look(ctx, false); err != nil && ctx.Err() == nil && time.Since(k.complaint) >= complainEvery {
			k.complaint = time.Now()
			k.log.Warn("the keys that sign push tokens could not be looked after; those that are known go on", "error", err)
		}
	}
}

// PublicKeys returns the keys that tokens are verified with, as a JSON Web Key
// Set. UNAVAILABLE.
func (k *Keys) PublicKeys(ctx context.Context) ([]byte, error) {
	known, err := k.get(ctx)
	if err != nil {
		return nil, err
	}
	return known.public, nil
}

// signer signs with the key whose turn it is.
func (k *Keys) signer(ctx context.Context, now time.Time) (signer jose.Signer, keyID string, err error) {
	known, err := k.get(ctx)
	if err != nil {
		return nil, "", err
	}
	keyID = known.signer(now).Key.KeyID
	return known.signers[keyID], keyID, nil
}

// has tells whether receivers still know the key.
func (k *Keys) has(keyID string) bool {
	known := k.known.Load()
	return known != nil && known.signers[keyID] != nil
}

// get returns the keys, and makes the first one if there is none.
func (k *Keys) get(ctx context.Context) (*knownKeys, error) {
	if known := k.known.Load(); known != nil {
		return known, nil
	}
	if err := k.look(ctx, true); err != nil {
		return nil, subscriptions.WrapError(err, subscriptions.Unavailable, "the signing keys cannot be read")
	}
	return k.known.Load(), nil
}

// look reads the ring and takes it a step further when it is time. When there
// is none it makes one only if it must: a ring that was thrown away is made anew
// by need.
func (k *Keys) look(ctx context.Context, must bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if must && k.known.Load() != nil {
		return nil // another call was faster
	}
	spare := sync.OnceValues(k.makeKey) // for all attempts
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for {
		stored, err := k.ring.SigningKeys(ctx)
		if err != nil {
			return fmt.Errorf("read the signing keys: %w", err)
		}
		if stored == "" && !must {
			k.known.Store(nil)
			return nil
		}
		next, err := k.step(ctx, stored, spare)
		if subscriptions.CodeOf(err) == subscriptions.Aborted && ctx.Err() == nil {
			continue // another server took the step
		}
		if next != nil {
			k.known.Store(next)
		}
		return err
	}
}

// step makes the ring of what is stored known, and first takes it further if it
// is time. When that fails, what is stored is made known nevertheless.
func (k *Keys) step(ctx context.Context, stored string, makeKey func() (jose.JSONWebKey, error)) (*knownKeys, error) {
	was := k.known.Load()
	if was == nil || was.stored != stored {
		was = nil
		if stored != "" {
			r, err := parseRing(stored)
			if err != nil {
				return nil, fmt.Errorf("the signing keys cannot be read: %w", err)
			}
			if was, err = know(r, stored); err != nil {
				return nil, err
			}
		}
	}
	var r ring
	if was != nil {
		r = was.ring
	}
	next, changed, err := r.advance(time.Now(), makeKey)
	if err != nil || !changed {
		return was, err
	}
	text, err := next.text()
	if err != nil {
		return was, err
	}
	if err := k.ring.ReplaceSigningKeys(ctx, stored, text); err != nil {
		return was, fmt.Errorf("store the signing keys: %w", err)
	}
	return know(next, text)
}

// know prepares the keys of a ring for use.
func know(r ring, stored string) (*knownKeys, error) {
	k := &knownKeys{ring: r, stored: stored, signers: map[string]jose.Signer{}}
	var set jose.JSONWebKeySet
	for _, key := range r.Keys {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key.Key}, new(jose.SignerOptions).WithType("JWT"))
		if err != nil {
			return nil, fmt.Errorf("prepare a signing key: %w", err)
		}
		k.signers[key.Key.KeyID] = signer
		set.Keys = append(set.Keys, key.Key.Public())
	}
	var err error
	k.public, err = json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("write the public keys: %w", err)
	}
	return k, nil
}
