package server_test

import (
	"fmt"
	"strings"
	"testing"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

const (
	oldSecret subscriptions.WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret subscriptions.WebhookSecret = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
)

func webhookSecrets(given ...string) string {
	return fmt.Sprintf(`{"postrider": {"webhookSecrets": [%s]}}`, strings.Join(given, ", "))
}

func secretEntry(s subscriptions.WebhookSecret) string {
	return fmt.Sprintf(`{"secret": "%s"}`, string(s))
}

func printEntry(s subscriptions.WebhookSecret) string {
	return fmt.Sprintf(`{"fingerprint": "%s"}`, s.Fingerprint())
}

// Secrets go in and never come out; what comes out names them, and goes in again.
func TestWebhookSecretsAreWriteOnly(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(webhookSecrets(secretEntry(oldSecret)))
	patch := func(settings, mask string) fields {
		return s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": %s, "updateMask": "%s"}`, settings, mask)).ok()
	}
	has := func(got fields, want ...subscriptions.WebhookSecret) {
		t.Helper()
		var prints []string
		for _, secret := range want {
			prints = append(prints, printEntry(secret))
		}
		shown, _ := got["postrider"].(fields)
		if encode(shown) != encode(parsed(t, webhookSecrets(prints...))["postrider"]) {
			t.Errorf("shown is %v, want %v", shown, prints)
		}
	}
	has(s.do("GET "+subPath).ok(), oldSecret)
	has(patch(webhookSecrets(secretEntry(newSecret), printEntry(oldSecret)), "postrider.webhookSecrets"), newSecret, oldSecret)
	has(s.do("GET p/subscriptions").ok()["subscriptions"].([]any)[0].(fields), newSecret, oldSecret)
	has(patch(`{"ackDeadlineSeconds": 20}`, "ackDeadlineSeconds"), newSecret, oldSecret)
	has(patch(webhookSecrets(printEntry(newSecret)), "postrider"), newSecret)
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {"pushEndpoint": "https://example.com/"}}`).ok()
	s.do("POST "+subPath+":modifyPushConfig", `{}`).ok()
	has(s.do("GET "+subPath).ok(), newSecret)
	if got := patch(`{}`, "postrider.webhook_secrets")["postrider"]; got != nil {
		t.Errorf("taken away, it reads %v", got)
	}
}

func TestPushLimits(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"postrider": {"pushLimits": {"maxOutstanding": 3, "maxPerSecond": 0.5}}}`)
	has := func(got fields, want string) {
		t.Helper()
		if shown := encode(got["postrider"]); shown != want {
			t.Errorf("shown is %s, want %s", shown, want)
		}
	}
	patch := func(settings, mask string) fields {
		return s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": {"postrider": %s}, "updateMask": "%s"}`, settings, mask)).ok()
	}
	has(s.do("GET "+subPath).ok(), `{"pushLimits":{"maxOutstanding":3,"maxPerSecond":0.5}}`)
	has(patch(`{"pushLimits": {"maxPerSecond": 100000}}`, "postrider.push_limits"), `{"pushLimits":{"maxPerSecond":100000}}`)
	has(patch(`{}`, "postrider.webhookSecrets"), `{"pushLimits":{"maxPerSecond":100000}}`)
	has(patch(`{"pushLimits": {}}`, "postrider.pushLimits"), `null`)
}

func TestTerminalAnswers(t *testing.T) {
	t.Parallel()
	const set = `{"terminalAnswers":{"header":"X-Final","statuses":[410,422]}}`
	s := newREST(t)
	s.do("PUT p/topics/dead", "{}").ok()
	s.withSubscription(`{"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead"}, "postrider": ` + set + `}`)
	if shown := encode(s.do("GET " + subPath).ok()["postrider"]); shown != set {
		t.Errorf("shown is %s, want %s", shown, set)
	}
	patch := func(mask string) answer {
		return s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": {}, "updateMask": "%s"}`, mask))
	}
	patch("deadLetterPolicy").invalid("postrider.terminalAnswers", "deadLetterPolicy")
	if shown := patch("deadLetterPolicy,postrider.terminalAnswers").ok()["postrider"]; shown != nil {
		t.Errorf("taken away, it reads %v", shown)
	}
}

func TestBadExtensions(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	text := strings.TrimPrefix(string(oldSecret), "whsec_")
	for settings, words := range map[string][]string{
		`{"postrider": {"clientCertificate": "billing"}}`:              {"postrider.clientCertificate", "no client certificates"},
		`{"postrider": {"webhookSecret": []}}`:                         {"webhookSecret"},
		`{"postrider": {"webhookSecrets": ["` + text + `"]}}`:          {"webhookSecrets"},
		webhookSecrets(`{"secret": "` + text + `"}`):                   {"postrider.webhookSecrets[0]", "whsec_"},
		webhookSecrets(printEntry(oldSecret)):                          {"postrider.webhookSecrets[0]", "no secret", oldSecret.Fingerprint()},
		webhookSecrets(secretEntry(oldSecret), `{}`):                   {"postrider.webhookSecrets[1]"},
		`{"postrider": {"pushLimits": {"maxOutstanding": -1}}}`:        {"postrider.pushLimits.maxOutstanding", "1 to 100000"},
		`{"postrider": {"pushLimits": {"maxOutstanding": 100001}}}`:    {"postrider.pushLimits.maxOutstanding"},
		`{"postrider": {"pushLimits": {"maxPerSecond": 0.001}}}`:       {"postrider.pushLimits.maxPerSecond", "0.01 to 100000"},
		`{"postrider": {"pushLimits": {"maxPerSecond": -5}}}`:          {"postrider.pushLimits.maxPerSecond"},
		`{"postrider": {"terminalAnswers": {"statuses": [410]}}}`:      {"postrider.terminalAnswers", "deadLetterPolicy"},
		`{"postrider": {"terminalAnswers": {"statuses": [200]}}}`:      {"postrider.terminalAnswers.statuses[0]", "200"},
		`{"postrider": {"terminalAnswers": {"statuses": [410, 410]}}}`: {"postrider.terminalAnswers.statuses[1]", "twice"},
		`{"postrider": {"terminalAnswers": {"statuses": [600]}}}`:      {"postrider.terminalAnswers.statuses[0]"},
		`{"postrider": {"terminalAnswers": {"header": "X Final"}}}`:    {"postrider.terminalAnswers.header", "X Final"},
		`{"postrider": {"pushLimits": {"maxPerSeconds": 5}}}`:          {"maxPerSeconds"},
		webhookSecrets(secretEntry(oldSecret), secretEntry(oldSecret)): {"postrider.webhookSecrets[1]", "twice"},
		webhookSecrets(fmt.Sprintf(`{"secret": "%s", "fingerprint": "%s"}`, string(oldSecret), newSecret.Fingerprint())): {
			"postrider.webhookSecrets[0]", "fingerprint"},
	} {
		for _, a := range []answer{
			s.subscribe("other", settings),
			s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": %s, "updateMask": "postrider"}`, settings)),
		} {
			a.invalid(words...)
			if strings.Contains(a.body, text) {
				t.Errorf("the secret comes back: %s", a.body)
			}
		}
	}
	if got := s.do("GET " + subPath).ok()["postrider"]; got != nil {
		t.Errorf("what was refused had an effect: %v", got)
	}
}

// oneCertificate is a server's folder with one certificate in it.
type oneCertificate string

func (c oneCertificate) Has(name string) bool { return name == string(c) }

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	service := subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{ClientCertificates: oneCertificate("billing")})
	s := rest{t: t, handler: server.New(service, server.Options{})}.withSubscription(
		`{"pushConfig": {"pushEndpoint": "https://example.com/"}, "postrider": {"clientCertificate": "billing"}}`)
	has := func(want string) {
		t.Helper()
		if got := encode(s.do("GET " + subPath).ok()["postrider"]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	has(`{"clientCertificate":"billing"}`)
	for certificate, words := range map[string][]string{
		"shipping": {"postrider.clientCertificate", `"shipping"`}, "../x": {"postrider.clientCertificate", `"../x"`},
	} {
		s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": {"postrider": {"clientCertificate": "%s"}}, "updateMask": "postrider.clientCertificate"}`, certificate)).
			invalid(words...)
	}
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {"pushEndpoint": "http://127.0.0.1/"}}`).invalid("postrider.clientCertificate", "https")
	s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": %s, "updateMask": "postrider.webhookSecrets"}`, webhookSecrets(secretEntry(newSecret)))).ok()
	has(`{"clientCertificate":"billing","webhookSecrets":[{"fingerprint":"` + newSecret.Fingerprint() + `"}]}`)
	s.do("PATCH "+subPath, `{"updateMask": "postrider.client_certificate"}`).ok()
	has(`{"webhookSecrets":[{"fingerprint":"` + newSecret.Fingerprint() + `"}]}`)
}
