package subscriptions

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

const (
	// webhookPrefix begins a secret, as Standard Webhooks write it; the rest is
	// base64.
	webhookPrefix = "whsec_"
	// minWebhookKey and maxWebhookKey bound the bytes of a secret.
	minWebhookKey = 24
	maxWebhookKey = 64
	// maxWebhookSecrets bounds the signatures of a push.
	maxWebhookSecrets = 5
	// fingerprintPrefix begins a fingerprint, and fingerprintBytes is how much of
	// the hash it shows.
	fingerprintPrefix = "sha256:"
	fingerprintBytes  = 8
)

// WebhookSecret is what a subscription shares with its endpoint to sign pushes.
// However it is printed or marshalled, what comes out is its fingerprint; who
// needs the secret itself converts it to a string. In a change it may be a
// fingerprint, which stands for the secret that has it.
type WebhookSecret string

// Key is what signatures are made with; empty if the secret is malformed.
func (s WebhookSecret) Key() []byte {
	text, ok := strings.CutPrefix(string(s), webhookPrefix)
	if !ok {
		return nil
	}
	key, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(key) < minWebhookKey || len(key) > maxWebhookKey {
		return nil
	}
	return key
}

// Fingerprint tells secrets apart without giving anything of them away.
func (s WebhookSecret) Fingerprint() string {
	if strings.HasPrefix(string(s), fingerprintPrefix) {
		return string(s)
	}
	sum := sha256.Sum256(s.Key())
	return fingerprintPrefix + hex.EncodeToString(sum[:fingerprintBytes])
}

// String implements fmt.Stringer.
func (s WebhookSecret) String() string { return s.Fingerprint() }

// GoString implements fmt.GoStringer.
func (s WebhookSecret) GoString() string { return s.Fingerprint() }

// MarshalText implements encoding.TextMarshaler, which JSON and logs ask.
func (s WebhookSecret) MarshalText() ([]byte, error) { return []byte(s.Fingerprint()), nil }

// resolveWebhookSecrets puts the secrets that there are in the places of
// their fingerprints, and checks them all.
func resolveWebhookSecrets(given, present []WebhookSecret) ([]WebhookSecret, error) {
	if len(given) > maxWebhookSecrets {
		return nil, Errorf(InvalidArgument, "postrider.webhookSecrets: at most %d secrets are allowed, there are %d", maxWebhookSecrets, len(given))
	}
	known := map[string]WebhookSecret{}
	for _, s := range present {
		known[s.Fingerprint()] = s
	}
	var secrets []WebhookSecret
	seen := map[string]bool{}
	for i, s := range given {
		print := s.Fingerprint()
		if strings.HasPrefix(string(s), fingerprintPrefix) {
			if s = known[print]; s == "" {
				return nil, Errorf(InvalidArgument, "postrider.webhookSecrets[%d]: the subscription has no secret with the fingerprint %q", i, clip(print, 64))
			}
		}
		if len(s.Key()) == 0 {
			// The text may be most of a secret, so it is not repeated here.
			return nil, Errorf(InvalidArgument, "postrider.webhookSecrets[%d]: must be %s and %d to %d random bytes in base64", i, webhookPrefix, minWebhookKey, maxWebhookKey)
		}
		if seen[print] {
			return nil, Errorf(InvalidArgument, "postrider.webhookSecrets[%d]: the secret with the fingerprint %s is there twice", i, print)
		}
		seen[print] = true
		secrets = append(secrets, s)
	}
	return secrets, nil
}
