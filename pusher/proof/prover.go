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
	secrets []subscriptions.WebhookSecret
	keys    [][]byte // of the secrets
}

// Of makes what a subscription's pushes are proved with.
func Of(sub subscriptions.Subscription) *Prover {
	p := &Prover{secrets: sub.WebhookSecrets}
	for _, secret := range sub.WebhookSecrets {
		p.keys = append(p.keys, secret.Key())
	}
	return p
}

// Proves tells whether p is what the subscription asks for.
func (p *Prover) Proves(sub subscriptions.Subscription) bool {
	return slices.Equal(p.secrets, sub.WebhookSecrets)
}

// Header is what goes with one attempt at one message; nil when nothing is
// asked for.
func (p *Prover) Header(_ context.Context, id subscriptions.MessageID, body []byte) (http.Header, error) {
	if len(p.keys) == 0 {
		return nil, nil
	}
	h := http.Header{}
	signWebhook(h, p.keys, id.String(), time.Now(), body)
	return h, nil
}
