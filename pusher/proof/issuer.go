package proof

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"postrider/subscriptions"
)

const (
	// tokenLife is how long a token is good for, as at Google.
	tokenLife = time.Hour
	// renewBefore its end a token is used no more: it must outlive the way to the
	// receiver and what the clocks differ by.
	renewBefore = 10 * time.Minute
	// backdated is how old a token claims to be: some receivers refuse one that is
	// from the future by their clock.
	backdated = 10 * time.Second
)

// Issuer signs OpenID Connect tokens as Google's push does, in its own name.
type Issuer struct {
	url  string
	keys *Keys
}

// NewIssuer makes an issuer of this name, under which receivers find the public
// keys.
func NewIssuer(url string, keys *Keys) *Issuer { return &Issuer{url, keys} }

// URL is the issuer's name, the claim iss.
func (i *Issuer) URL() string { return i.url }

// PublicKeys returns the keys that tokens are verified with, as a JSON Web Key
// Set. UNAVAILABLE.
func (i *Issuer) PublicKeys(ctx context.Context) ([]byte, error) { return i.keys.PublicKeys(ctx) }

// claims are those that Google's tokens have. There is no directory of accounts behind the address: it is what the subscription says,
// and whoever may change the subscription may say it.
type claims struct {
	Issuer          string `json:"iss"`
	Subject         string `json:"sub"`
	AuthorizedParty string `json:"azp"`
	Audience        string `json:"aud"` // a string, as Google's: some receivers compare it with one
	Email           string `json:"email"`
	EmailVerified   bool   `json:"email_verified"`
	IssuedAt        int64  `json:"iat"`
	Expiry          int64  `json:"exp"`
}

// sign makes a token and names the key that it is signed with.
func (i *Issuer) sign(ctx context.Context, email, audience string, now time.Time) (token, keyID string, err error) {
	signer, keyID, err := i.keys.signer(ctx, now)
	if err != nil {
		return "", "", err
	}
	from := now.Add(-backdated)
	token, err = jwt.Signed(signer).Claims(claims{
		Issuer: i.url, Subject: email, AuthorizedParty: email, Audience: audience,
		Email: email, EmailVerified: true,
		IssuedAt: from.Unix(), Expiry: from.Add(tokenLife).Unix(),
	}).Serialize()
	if err != nil {
		return "", "", fmt.Errorf("sign a token: %w", err)
	}
	return token, keyID, nil
}

// bearer is the token of one subscription, which serves many pushes.
type bearer struct {
	issuer          *Issuer
	email, audience string

	mu           sync.Mutex
	token, keyID string
	until        time.Time // when it is renewed
}

// get returns a token that is good for a while. One whose key was thrown away is
// worth nothing, however young.
func (b *bearer) get(ctx context.Context) (string, error) {
	if b.issuer == nil {
		return "", subscriptions.Errorf(subscriptions.FailedPrecondition, "this server signs no tokens")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Before(b.until) && b.issuer.keys.has(b.keyID) {
		return b.token, nil
	}
	token, keyID, err := b.issuer.sign(ctx, b.email, b.audience, now)
	if err != nil {
		return "", err
	}
	b.token, b.keyID, b.until = token, keyID, now.Add(tokenLife-backdated-renewBefore)
	return token, nil
}
