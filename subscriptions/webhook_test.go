package subscriptions

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func secretOf(n int, fill byte) WebhookSecret {
	return WebhookSecret(webhookPrefix + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, n)))
}

func TestWebhookKey(t *testing.T) {
	t.Parallel()
	for _, n := range []int{24, 25, 26, 64} {
		padded := secretOf(n, 'k')
		bare := WebhookSecret(strings.TrimRight(string(padded), "="))
		for _, s := range []WebhookSecret{padded, bare} {
			if got := s.Key(); !bytes.Equal(got, bytes.Repeat([]byte{'k'}, n)) {
				t.Errorf("%d bytes: %q", n, got)
			}
		}
		if padded.Fingerprint() != bare.Fingerprint() {
			t.Error("padding makes another secret")
		}
	}
	whole := string(secretOf(32, 'k'))
	for _, s := range []string{
		"", "whsec_", strings.TrimPrefix(whole, "whsec_"), "WHSEC_" + whole[6:], whole[:len(whole)-5] + "!" + whole[len(whole)-4:],
		string(secretOf(23, 'k')), string(secretOf(65, 'k')), whole + " ", "whsec_" + strings.Repeat("_-", 20),
	} {
		if WebhookSecret(s).Key() != nil {
			t.Errorf("%q is taken for a secret", s)
		}
	}
}

// However a record is printed, it has no secret in it.
func TestASecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	secret := secretOf(32, 'k')
	sub := Subscription{WebhookSecrets: []WebhookSecret{secret}}
	var out bytes.Buffer
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X"} {
		fmt.Fprintf(&out, format+"\n", secret)
		fmt.Fprintf(&out, format+"\n", sub)
		fmt.Fprintf(&out, format+"\n", &sub)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "secret", secret, "sub", sub, "list", sub.WebhookSecrets)
	}
	if err := json.NewEncoder(&out).Encode(sub); err != nil {
		t.Fatal(err)
	}
	text, _ := strings.CutPrefix(string(secret), webhookPrefix)
	for _, shown := range []string{text, text[8:24], fmt.Sprintf("%x", string(secret)), fmt.Sprintf("%X", string(secret))} {
		if strings.Contains(out.String(), shown) {
			t.Errorf("%q is in\n%s", shown, out.String())
		}
	}
	if !strings.Contains(out.String(), secret.Fingerprint()) {
		t.Errorf("no fingerprint in\n%s", out.String())
	}
}

func TestResolveWebhookSecrets(t *testing.T) {
	t.Parallel()
	a, b, c := secretOf(24, 'a'), secretOf(24, 'b'), secretOf(24, 'c')
	of := func(s WebhookSecret) WebhookSecret { return WebhookSecret(s.Fingerprint()) }
	for _, k := range []struct {
		given, present, want []WebhookSecret
		wrong                string
	}{
		{nil, []WebhookSecret{a}, nil, ""},
		{[]WebhookSecret{b, of(a)}, []WebhookSecret{a}, []WebhookSecret{b, a}, ""},
		{[]WebhookSecret{of(b), of(a)}, []WebhookSecret{a, b}, []WebhookSecret{b, a}, ""},
		{[]WebhookSecret{c, of(b)}, []WebhookSecret{a}, nil, "webhookSecrets[1]: the subscription has no secret"},
		{[]WebhookSecret{a, of(a)}, []WebhookSecret{a}, nil, "webhookSecrets[1]: the secret with"},
		{[]WebhookSecret{a, a}, nil, nil, "is there twice"},
		{[]WebhookSecret{""}, nil, nil, "webhookSecrets[0]: must be whsec_"},
		{[]WebhookSecret{"hunter2"}, nil, nil, "must be whsec_"},
		{make([]WebhookSecret, 6), nil, nil, "at most 5"},
	} {
		got, err := resolveWebhookSecrets(k.given, k.present)
		if fmt.Sprint(got) != fmt.Sprint(k.want) || (err == nil) != (k.wrong == "") ||
			err != nil && (CodeOf(err) != InvalidArgument || !strings.Contains(err.Error(), k.wrong) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%v of %v: %v, %v", k.given, k.present, got, err)
		}
	}
}
