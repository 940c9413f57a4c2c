package proof

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The life of a signing key. Servers look at the ring once a minute, and
// receivers may keep the published keys for an hour (server/issuer.go), so a day
// is ample for everybody to know a key before it signs. The clocks of servers
// and receivers may differ by the rest of keptFor.
const (
	keyBits      = 2048
	signsFor     = 30 * 24 * time.Hour
	knownBefore  = 24 * time.Hour        // that it signs
	keptFor      = tokenLife + time.Hour // after its successor began to sign
	ringVersion  = 1
	maxKeysAtAll = 16 // of a ring that can be read; there are three at most by themselves
)

// ring are the signing keys of an issuer in the order in which they sign. Its
// text is what the servers share.
type ring struct {
	Version int          `json:"version"`
	Keys    []signingKey `json:"keys"`
}

// signingKey is a key pair and the time from which on it signs, until the next
// does.
type signingKey struct {
	From time.Time       `json:"from"`
	Key  jose.JSONWebKey `json:"key"`
}

// parseRing reads a ring. Its errors say nothing of what the text says, which is
// secret.
func parseRing(text string) (r ring, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return ring{}, errors.New("they are no ring of keys")
	}
	if r.Version != ringVersion {
		return ring{}, fmt.Errorf("they are of the version %d, which a newer Postrider wrote", r.Version)
	}
	if len(r.Keys) == 0 || len(r.Keys) > maxKeysAtAll {
		return ring{}, fmt.Errorf("there are %d keys", len(r.Keys))
	}
	for i, k := range r.Keys {
		private, ok := k.Key.Key.(*rsa.PrivateKey)
		if !ok || k.Key.KeyID == "" || private.N.BitLen() < keyBits {
			return ring{}, fmt.Errorf("the key %d is not an RSA key of at least %d bits with a key id", i, keyBits)
		}
		if i > 0 && !k.From.After(r.Keys[i-1].From) {
			return ring{}, fmt.Errorf("the key %d does not sign after the one before it", i)
		}
	}
	return r, nil
}

func (r ring) text() (string, error) {
	r.Version = ringVersion
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", errors.New("the signing keys cannot be written")
	}
	return string(b) + "\n", nil
}

// signer is the key that signs now. By a clock that lags behind that of who made
// the first key none does yet; then it is the first.
func (r ring) signer(now time.Time) *signingKey {
	signer := &r.Keys[0]
	for i, k := range r.Keys {
		if !k.From.After(now) {
			signer = &r.Keys[i]
		}
	}
	return signer
}

// advance adds the next key when it is time for it to be known, and drops those
// of which no token lives. The very first key has nobody to wait for.
func (r ring) advance(now time.Time, makeKey func() (jose.JSONWebKey, error)) (_ ring, changed bool, err error) {
	next := now
	if n := len(r.Keys); n > 0 {
		next = r.Keys[n-1].From.Add(signsFor)
	}
	keys := slices.Clone(r.Keys)
	if len(keys) == 0 || !now.Before(next.Add(-knownBefore)) {
		key, err := makeKey()
		if err != nil {
			return r, false, err
		}
		if known := now.Add(knownBefore); len(keys) > 0 && next.Before(known) {
			next = known // nobody looked in time
		}
		keys = append(keys, signingKey{next.UTC().Truncate(time.Second), key})
	}
	for len(keys) > 1 && now.After(keys[1].From.Add(keptFor)) {
		keys = keys[1:]
	}
	return ring{Keys: keys}, len(keys) != len(r.Keys) || keys[0].Key.KeyID != r.Keys[0].Key.KeyID, nil
}

// newKey makes a key whose id is its RFC 7638 thumbprint.
func newKey() (jose.JSONWebKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	key := jose.JSONWebKey{Key: private, Algorithm: string(jose.RS256), Use: "sig"}
	print, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	key.KeyID = base64.RawURLEncoding.EncodeToString(print)
	return key, nil
}
