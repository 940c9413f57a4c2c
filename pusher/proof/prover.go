package proof

import (
	"context"
	"net/http"
	"slices"
	"time"

	"postrider/subscriptions"
)

// Prover makes the headers by which a receiver knows the sender. The zero value
// makes none.
type Prover struct {
	bearer  *bearer // nil without tokens
	secrets []subscriptions.WebhookSecret
	keys    [][]byte // of the secrets
}

// Of makes what a push subscription's pushes are proved with. Without an issuer
// those that ask for tokens cannot be proved.
func Of(sub subscriptions.Subscription, issuer *Issuer) *Prover {
	p := &Prover{secrets: sub.WebhookSecrets}
	for _, secret := range sub.WebhookSecrets {
		p.keys = append(p.keys, secret.Key())
	}
	if email, audience := tokenOf(sub); email != "" {
		p.bearer = &bearer{issuer: issuer, email: email, audience: audience}
	}
	return p
}

// tokenOf is whom a subscription's tokens speak for and whom they are meant for;
// empty when it asks for none.
func tokenOf(sub subscriptions.Subscription) (email, audience string) {
	if sub.Push == nil || sub.Push.Token == nil {
		return "", ""
	}
	if audience = sub.Push.Token.Audience; audience == "" {
		audience = sub.Push.Endpoint
	}
	return sub.Push.Token.Email, audience
}

// Proves tells whether p is what the subscription asks for.
func (p *Prover) Proves(sub subscriptions.Subscription) bool {
	var isEmail, isAudience string
	if p.bearer != nil {
		isEmail, isAudience = p.bearer.email, p.bearer.audience
	}
	email, audience := tokenOf(sub)
	return isEmail == email && (email == "" || isAudience == audience) && slices.Equal(p.secrets, sub.WebhookSecrets)
}

// Header is what goes with one attempt at one message; nil when nothing is
// asked for.
func (p *Prover) Header(ctx context.Context, id subscriptions.MessageID, body []byte) (http.Header, error) {
	if len(p.keys) == 0 && p.bearer == nil {
		return nil, nil
	}
	h := http.Header{}
	if p.bearer != nil {
		token, err := p.bearer.get(ctx)
		if err != nil {
			return nil, err
		}
		h.Set("Authorization", "Bearer "+token)
	}
	if len(p.keys) > 0 {
		signWebhook(h, p.keys, id.String(), time.Now(), body)
	}
	return h, nil
}
