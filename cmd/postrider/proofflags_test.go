package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postrider/pusher/proof/prooftest"
)

func TestProofFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prooftest.NewAuthority(t).Write(dir, "mtls")
	c := client(t, startApp(t, func(c *Config) { c.ClientCertificates = dir }).Addr())
	c.run("topics", "create", "orders")
	const first, second = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
	secrets := filepath.Join(dir, "secrets")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(secrets, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first + "\n")
	const fingerprint = "sha256:f74e1720b7614881"
	for _, step := range []struct{ args, want string }{
		{"create billing --topic orders --push-endpoint https://127.0.0.1:1/p --push-auth-service-account a@b " +
			"--push-auth-token-audience me --client-certificate mtls --webhook-secret-file " + secrets,
			"proof token of a@b for me, signature by " + fingerprint + ", client certificate mtls\n"},
		{"update billing --push-auth-token-audience= --client-certificate=", "proof token of a@b, signature by " + fingerprint + "\n"},
		{"update billing --push-auth-service-account=", "proof signature by " + fingerprint + "\n"},
		{"update billing --webhook-secret-file " + secrets, "proof signature by sha256:"},
		{"update billing --webhook-secret-file=", "state ACTIVE"},
	} {
		if strings.HasSuffix(step.args, secrets) && strings.HasPrefix(step.args, "update") {
			write(second + "\n" + fingerprint + "\n") // the old one is kept by its fingerprint
			step.want += "09f61f8d9cd65e6a, signature by " + fingerprint
		}
		got := squeeze(c.run(append([]string{"subscriptions"}, strings.Fields(step.args)...)...))
		if !strings.Contains(got, step.want) || strings.Contains(got, "whsec_") {
			t.Errorf("subscriptions %s:\n%s\nlacks %q", step.args, got, step.want)
		}
	}
	if got := c.run("subscriptions", "get", "billing"); strings.Contains(got, "proof") {
		t.Errorf("without any proof:\n%s", got)
	}
	c.run("subscriptions", "modify-push-config", "billing", "--push-endpoint", "https://127.0.0.1:1/p", "--push-auth-service-account", "c@d")
	if got := squeeze(c.run("subscriptions", "get", "billing")); !strings.Contains(got, "proof token of c@d\n") {
		t.Errorf("got\n%s", got)
	}
	for text, want := range map[string]string{"": "there is no secret", "hunter2": "postrider.webhookSecrets[0]"} {
		write(text)
		status, _, told := c.try("", "subscriptions", "update", "billing", "--webhook-secret-file", secrets)
		if status == 0 || !strings.Contains(told, want) || strings.Contains(told, "hunter2") {
			t.Errorf("%q: exit status %d, %s", text, status, told)
		}
	}
}
