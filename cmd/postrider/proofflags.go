package main

import (
	"os"
	"strings"

	"github.com/spf13/pflag"

	"postrider/server/api"
)

// proofFlags are what shows an endpoint who pushes, beside the token of a push configuration.
type proofFlags struct {
	set         *pflag.FlagSet
	secretFile  string
	certificate string
}

func (f *proofFlags) bind(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.secretFile, "webhook-secret-file", "",
		"`FILE` of secrets to sign pushes with, one a line, each whsec_ and base64, or the fingerprint of one to keep; an empty name is none")
	set.StringVar(&f.certificate, "client-certificate", "", "`NAME` of the server's client certificate for endpoints that ask for one; empty is none")
}

// extensions are nil when nothing is set.
func (f *proofFlags) extensions() (*api.SubscriptionExtensions, error) {
	if !f.set.Changed("webhook-secret-file") && !f.set.Changed("client-certificate") {
		return nil, nil
	}
	x := &api.SubscriptionExtensions{ClientCertificate: f.certificate}
	if f.secretFile == "" {
		return x, nil
	}
	text, err := os.ReadFile(f.secretFile)
	if err != nil {
		return nil, usagef("--webhook-secret-file: %w", err)
	}
	for _, line := range strings.Fields(string(text)) {
		secret := api.WebhookSecret{Secret: line}
		if strings.HasPrefix(line, "sha256:") {
			secret = api.WebhookSecret{Fingerprint: line}
		}
		x.WebhookSecrets = append(x.WebhookSecrets, secret)
	}
	if len(x.WebhookSecrets) == 0 {
		return nil, usagef("--webhook-secret-file: there is no secret in %s", f.secretFile)
	}
	return x, nil
}

// proofText says what shows the endpoint who pushes.
func proofText(sub api.Subscription) string {
	var proofs []string
	if p := sub.PushConfig; p != nil && p.OidcToken != nil {
		text := "token of " + p.OidcToken.ServiceAccountEmail
		if p.OidcToken.Audience != "" {
			text += " for " + p.OidcToken.Audience
		}
		proofs = append(proofs, text)
	}
	if x := sub.Postrider; x != nil {
		for _, secret := range x.WebhookSecrets {
			proofs = append(proofs, "signature by "+secret.Fingerprint)
		}
		if x.ClientCertificate != "" {
			proofs = append(proofs, "client certificate "+x.ClientCertificate)
		}
	}
	return strings.Join(proofs, ", ")
}
