package server_test

import (
	"context"
	"net/http"
	"testing"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// fakeIssuer has no keys without a text of them.
type fakeIssuer struct{ url, keys string }

func (f fakeIssuer) URL() string { return f.url }

func (f fakeIssuer) PublicKeys(context.Context) ([]byte, error) {
	if f.keys == "" {
		return nil, subscriptions.Errorf(subscriptions.Unavailable, "away")
	}
	return []byte(f.keys), nil
}

func issuing(t *testing.T, issuer server.Issuer) rest {
	service := subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{})
	return rest{t: t, handler: server.New(service, server.Options{Issuer: issuer})}
}

// Receivers find the keys by the issuer's name, whatever the load balancer makes of it.
func TestReceiversFindTheKeys(t *testing.T) {
	t.Parallel()
	const keys = `{"keys": [{"kty": "RSA"}]}`
	for url, prefixes := range map[string][]string{
		"http://127.0.0.1:8085":               {""},
		"https://pubsub.example.com":          {""},
		"https://example.com/internal/pubsub": {"", "/internal/pubsub"},
	} {
		s := issuing(t, fakeIssuer{url, keys})
		for _, prefix := range prefixes {
			for _, host := range []string{"localhost", "pubsub.example.com", "evil.example"} {
				discovery := s.doWith("Host: "+host, "GET "+prefix+"/.well-known/openid-configuration")
				discovery.is(`{"issuer": "` + url + `", "jwks_uri": "` + url + `/.well-known/jwks.json",
					"response_types_supported": ["id_token"], "subject_types_supported": ["public"],
					"id_token_signing_alg_values_supported": ["RS256"],
					"claims_supported": ["iss", "sub", "azp", "aud", "email", "email_verified", "iat", "exp"]}`)
				set := s.doWith("Host: "+host, "GET "+prefix+"/.well-known/jwks.json")
				set.is(keys)
				for _, a := range []answer{discovery, set} {
					if a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "public, max-age=3600" {
						t.Errorf("%s: %v", a.request, a.header)
					}
				}
			}
		}
		s.doWith("Host: evil.example", "GET p/topics").fails(http.StatusForbidden, "PERMISSION_DENIED")
		s.doWith("Host: evil.example", "GET /.well-known/other").fails(http.StatusForbidden, "PERMISSION_DENIED")
		s.doWith("Host: evil.example", "GET /internal/pubsub/v1/projects/p/topics").fails(http.StatusForbidden, "PERMISSION_DENIED")
		s.do("POST /.well-known/jwks.json").fails(http.StatusMethodNotAllowed, "UNIMPLEMENTED")
	}
}

func TestWithoutKeys(t *testing.T) {
	t.Parallel()
	s := issuing(t, nil)
	s.do("GET /.well-known/openid-configuration").fails(http.StatusNotFound, "NOT_FOUND")
	s.do("GET /.well-known/jwks.json").fails(http.StatusNotFound, "NOT_FOUND")
	s = issuing(t, fakeIssuer{url: "https://pubsub.example.com"})
	s.do("GET /.well-known/jwks.json").fails(http.StatusServiceUnavailable, "UNAVAILABLE")
}

func TestOIDCToken(t *testing.T) {
	t.Parallel()
	const token = `{"serviceAccountEmail": "a@example.com", "audience": "me"}`
	s := newREST(t).withSubscription(`{"pushConfig": {"pushEndpoint": "https://example.com/push", "oidcToken": ` + token + `}}`)
	has := func(want string) {
		t.Helper()
		if got := s.do("GET " + subPath).ok()["pushConfig"]; encode(got) != encode(parsed(t, want)) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	patch := func(push, mask string) answer {
		return s.do("PATCH "+subPath, `{"subscription": {"pushConfig": `+push+`}, "updateMask": "`+mask+`"}`)
	}
	const versioned = `"attributes": {"x-goog-version": "v1"}`
	has(`{"pushEndpoint": "https://example.com/push", "oidcToken": ` + token + `, ` + versioned + `}`)
	patch(`{"oidcToken": {"serviceAccountEmail": "b@example.com", "audience": "you"}}`, "pushConfig.oidcToken.audience").ok()
	has(`{"pushEndpoint": "https://example.com/push", "oidcToken": {"serviceAccountEmail": "a@example.com", "audience": "you"}, ` + versioned + `}`)
	patch(`{"pushEndpoint": "https://example.com/other"}`, "push_config.push_endpoint,push_config.oidc_token.audience").ok()
	has(`{"pushEndpoint": "https://example.com/other", "oidcToken": {"serviceAccountEmail": "a@example.com"}, ` + versioned + `}`)
	patch(`{}`, "pushConfig.oidcToken").ok()
	has(`{"pushEndpoint": "https://example.com/other", ` + versioned + `}`)
	patch(`{"oidcToken": `+token+`}`, "pushConfig.oidcToken").ok()
	has(`{"pushEndpoint": "https://example.com/other", "oidcToken": ` + token + `, ` + versioned + `}`)
	patch(`{}`, "pushConfig.pushEndpoint").ok()
	has(`{` + versioned + `}`)
	patch(`{"oidcToken": `+token+`}`, "pushConfig.oidcToken").invalid("pushConfig.oidcToken", "pushEndpoint")
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {"oidcToken": `+token+`}}`).invalid("pushConfig.oidcToken", "pushEndpoint")
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {"pushEndpoint": "https://example.com/", "oidcToken": `+token+`}}`).ok()
	has(`{"pushEndpoint": "https://example.com/", "oidcToken": ` + token + `, ` + versioned + `}`)
}
