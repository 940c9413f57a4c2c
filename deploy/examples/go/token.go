package main

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

// skew is what the clocks may differ by, and refetch how often keys are fetched for the sake of one that is not known.
const (
	skew    = time.Minute
	refetch = 10 * time.Second
)

// tokenVerifier verifies OpenID Connect tokens of one issuer. In a larger program github.com/coreos/go-oidc does this.
type tokenVerifier struct {
	issuer, audience, email string

	mu      sync.Mutex
	keys    map[string]*rsa.PublicKey // by id
	fetched time.Time
}

// verify checks that a token is signed by the issuer, is meant for us, speaks for the sender we expect, and has not expired.
func (v *tokenVerifier) verify(token string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("there is none")
	}
	var header struct{ Alg, Kid string }
	if err := decode(parts[0], &header); err != nil || header.Alg != "RS256" {
		return errors.New("it is not signed by RS256")
	}
	key, err := v.key(header.Kid)
	if err != nil {
		return err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature); err != nil {
		return err
	}
	var claims struct {
		Iss, Aud, Email string
		EmailVerified   bool `json:"email_verified"`
		Iat, Exp        int64
	}
	now := time.Now()
	switch err := decode(parts[1], &claims); {
	case err != nil:
		return err
	case claims.Iss != v.issuer:
		return fmt.Errorf("it is of the issuer %q", claims.Iss)
	case claims.Aud != v.audience:
		return fmt.Errorf("it is meant for %q", claims.Aud)
	case claims.Email != v.email || !claims.EmailVerified:
		return fmt.Errorf("it speaks for %q", claims.Email)
	case now.After(time.Unix(claims.Exp, 0).Add(skew)):
		return errors.New("it has expired")
	case now.Before(time.Unix(claims.Iat, 0).Add(-skew)):
		return errors.New("it is of the future")
	}
	return nil
}

// key finds a key of the issuer's. One that is not known may be new: the issuer rotates them.
func (v *tokenVerifier) key(id string) (*rsa.PublicKey, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys[id] == nil && time.Since(v.fetched) > refetch {
		v.fetched = time.Now()
		if err := v.fetch(); err != nil {
			return nil, err
		}
	}
	if key := v.keys[id]; key != nil {
		return key, nil
	}
	return nil, errors.New("its key is not one of the issuer's")
}

func (v *tokenVerifier) fetch() error {
	var discovery struct {
		JWKSURI string `json:"jwks_uri"`
	}
	var set struct {
		Keys []struct{ Kid, N, E string }
	}
	if err := get(v.issuer+"/.well-known/openid-configuration", &discovery); err != nil {
		return err
	}
	if err := get(discovery.JWKSURI, &set); err != nil {
		return err
	}
	v.keys = map[string]*rsa.PublicKey{}
	for _, key := range set.Keys {
		n, err1 := base64.RawURLEncoding.DecodeString(key.N)
		e, err2 := base64.RawURLEncoding.DecodeString(key.E)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		v.keys[key.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	}
	return nil
}

func get(url string, into any) error {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// decode reads a part of a token.
func decode(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
