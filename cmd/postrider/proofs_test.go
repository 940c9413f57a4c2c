package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"postrider/storage/redistest"
)

// fetch reads a document that must be there.
func fetch(t *testing.T, url string) string {
	t.Helper()
	status, body := request(t, http.MethodGet, url, http.Header{})
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", url, status, body)
	}
	return body
}

// Servers that share a store sign as one issuer, with the same keys; a receiver finds these at any of them. What is secret is
// in no answer and no log.
func TestServersSignAsOne(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	logs := &watchedOutput{}
	const issuer = "https://pubsub.example.com/pubsub"
	onRedis := func(c *Config) { c.RedisURL, c.IssuerURL, c.LogLevel = redis.URL(), issuer, slog.LevelDebug }
	a, b := startLoggedApp(t, logs, onRedis), startLoggedApp(t, logs, onRedis)

	// Each received push, with the token it came with.
	headers := make(chan http.Header, 100)
	var pushes atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Clone()
		if pushes.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError) // which is logged
		}
	}))
	t.Cleanup(receiver.Close)
	const secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	base := "http://" + a.Addr() + "/v1/projects/demo"
	put := func(path, body string) (int, string) { return send(t, http.MethodPut, base+path, body) }
	put("/topics/orders", "{}")
	var answers []string
	for _, entry := range []string{`{"secret": "` + secret + `"}`, `{"secret": "whsec_` + secret + `!"}`, `"whsec_` + secret + `"`, `{"secret": "whsec_` + secret + `"}`} {
		_, answer := put("/subscriptions/billing", fmt.Sprintf(`{"topic": "projects/demo/topics/orders",
			"pushConfig": {"pushEndpoint": "%s/push?token=hunter2", "oidcToken": {"serviceAccountEmail": "pusher@example.com"}},
			"postrider": {"webhookSecrets": [%s]}}`, receiver.URL, entry))
		answers = append(answers, answer)
	}
	answers = append(answers, fetch(t, base+"/subscriptions/billing"), fetch(t, base+"/subscriptions"),
		client(t, b.Addr()).run("subscriptions", "get", "billing"), client(t, b.Addr()).run("subscriptions", "list", "-o", "json"))
	client(t, b.Addr()).run("publish", "orders", "hello")
	first := <-headers
	second := <-headers

	// Either server publishes what the token verifies by.
	sets := map[string]bool{}
	for _, server := range []*testApp{a, b} {
		for _, prefix := range []string{"", "/pubsub"} {
			var discovery struct {
				Issuer  string `json:"issuer"`
				JWKSURI string `json:"jwks_uri"`
			}
			text := fetch(t, "http://"+server.Addr()+prefix+"/.well-known/openid-configuration")
			if err := json.Unmarshal([]byte(text), &discovery); err != nil || discovery.Issuer != issuer || discovery.JWKSURI != issuer+"/.well-known/jwks.json" {
				t.Errorf("%s: %v", text, err)
			}
			sets[fetch(t, "http://"+server.Addr()+prefix+"/.well-known/jwks.json")] = true
		}
	}
	if len(sets) != 1 {
		t.Errorf("the servers publish %v", sets)
	}
	var token string
	for set := range sets {
		var keys jose.JSONWebKeySet
		if err := json.Unmarshal([]byte(set), &keys); err != nil || len(keys.Keys) != 1 {
			t.Fatalf("%s: %v", set, err)
		}
		token, _ = strings.CutPrefix(second.Get("Authorization"), "Bearer ")
		parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
		if err != nil {
			t.Fatalf("%v: %v", second, err)
		}
		var claims jwt.Claims
		if err := parsed.Claims(keys, &claims); err != nil {
			t.Fatal(err)
		}
		if err := claims.Validate(jwt.Expected{Issuer: issuer, Subject: "pusher@example.com",
			AnyAudience: jwt.Audience{receiver.URL + "/push?token=hunter2"}, Time: time.Now()}); err != nil {
			t.Error(err)
		}
	}
	if first.Get("webhook-id") == "" || first.Get("webhook-id") != second.Get("webhook-id") {
		t.Errorf("two attempts at one message say %v and %v", first, second)
	}
	ring, err := a.store.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	private := privateParts(t, ring)
	a.stop()
	b.stop()
	for _, hidden := range append(private, secret, token) {
		for _, where := range append(answers, logs.String()) {
			if strings.Contains(where, hidden) {
				t.Errorf("%s is in\n%s", hidden, where)
			}
		}
	}
	if strings.Contains(logs.String(), "hunter2") { // of the endpoint's URL, which may be read but not logged
		t.Errorf("the query of the endpoint's URL is in\n%s", logs.String())
	}
	if !strings.Contains(logs.String(), "push refused") || !strings.Contains(logs.String(), `"path":"/v1/projects/demo/subscriptions/billing"`) {
		t.Errorf("what could have held secrets was not logged:\n%s", logs.String())
	}
}

func TestKeysInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.json")
	withFile := func(c *Config) { c.SigningKeys = file }
	a, b := startApp(t, withFile), startApp(t, withFile)
	sets := []string{}
	for _, server := range []*testApp{a, b} {
		sets = append(sets, fetch(t, "http://"+server.Addr()+"/.well-known/jwks.json"))
	}
	if sets[0] != sets[1] || !strings.Contains(sets[0], `"kid"`) {
		t.Errorf("published are %v", sets)
	}
	if text, err := a.store.SigningKeys(t.Context()); text != "" || err != nil {
		t.Errorf("the keys are in the store, too (%v)", err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	status, _, errors := commandLine{T: t}.try("", "serve", "--listen", "127.0.0.1:0", "--signing-keys", file)
	if status != exitUsage || !strings.Contains(errors, "--signing-keys: ") || !strings.Contains(errors, "chmod 600 "+file) {
		t.Errorf("exit status %d, %s", status, errors)
	}
}

func TestIssuerSettings(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "pubsub.example.com", "https://", "https://h/", "https://h/a/", "https://u@h", "https://h?", "https://h?a=b", "https://h#f", "ftp://h"} {
		if _, err := load(t, "", nil, "--issuer-url", url); err == nil || !strings.Contains(err.Error(), "--issuer-url") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := load(t, "", nil, "--signing-keys", ""); err == nil {
		t.Error("no name of a file is taken for one")
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]string{
		"http://127.0.0.1:8085": "http://127.0.0.1:8085",
		"https://[::1]:8085":    "https://[::1]:8085",
		"http://0.0.0.0:8085":   "http://" + name + ":8085",
		"https://[::]:8085":     "https://" + name + ":8085",
	} {
		if got := issuerURL(Config{}, addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if got := issuerURL(Config{IssuerURL: "https://h"}, "http://127.0.0.1:1"); got != "https://h" {
		t.Errorf("--issuer-url https://h: %s", got)
	}
}

// privateParts are those of the keys of a ring.
func privateParts(t *testing.T, text string) (private []string) {
	t.Helper()
	var ring struct {
		Keys []struct {
			Key map[string]any `json:"key"`
		} `json:"keys"`
	}
	if err := json.Unmarshal([]byte(text), &ring); err != nil {
		t.Fatal(err)
	}
	for _, k := range ring.Keys {
		for _, part := range []string{"d", "p", "q", "dp", "dq", "qi"} {
			private = append(private, k.Key[part].(string))
		}
	}
	if len(private) == 0 {
		t.Fatal("there is no key")
	}
	return private
}
