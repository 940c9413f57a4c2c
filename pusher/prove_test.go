package pusher

import (
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

const (
	oldSecret subscriptions.WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret subscriptions.WebhookSecret = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
)

// A secret that is added, kept by its fingerprint, or taken away counts from the next push on.
func TestPushesAreSignedWithWhatTheSubscriptionSays(t *testing.T) {
	inBubble(t, func(b *bubble) {
		name := b.subscribe("sub", func(s *subscriptions.Subscription) {
			s.WebhookSecrets = []subscriptions.WebhookSecret{oldSecret}
		})
		for _, step := range []struct {
			secrets    []subscriptions.WebhookSecret
			signatures int
		}{
			{nil, 1}, // as created
			{[]subscriptions.WebhookSecret{newSecret, subscriptions.WebhookSecret(oldSecret.Fingerprint())}, 2},
			{[]subscriptions.WebhookSecret{newSecret}, 1},
			{[]subscriptions.WebhookSecret{}, 0},
		} {
			if step.secrets != nil {
				b.must(b.service.UpdateSubscription(b.Context(),
					subscriptions.Subscription{Name: name, WebhookSecrets: step.secrets}, []string{"postrider.webhookSecrets"}))
			}
			id := b.publish("m")[0].String()
			time.Sleep(time.Second)
			hits := b.web.seen()
			h := hits[len(hits)-1].request.Header
			signatures := strings.Fields(h.Get("webhook-signature"))
			if len(signatures) != step.signatures || step.signatures > 0 && h.Get("webhook-id") != id {
				b.Errorf("with %v: %v", step.secrets, h)
			}
			if h.Get("Content-Type") != "application/json" {
				b.Errorf("proofs took the place of %v", h)
			}
		}
		if n := len(b.web.seen()); n != 4 {
			b.Errorf("%d pushes, want 4", n)
		}
		b.left(name, 0)
	})
}
