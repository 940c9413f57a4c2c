package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// later is a server whose store's clock the test moves on.
func later(t *testing.T, o subscriptions.Options) (s rest, advance func(time.Duration)) {
	t.Helper()
	var ahead time.Duration
	store := memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
	service := subscriptions.NewService(store, o)
	return rest{t: t, handler: server.New(service, server.Options{}), service: service}, func(d time.Duration) { ahead += d }
}

// expireTime is what a subscription's object postrider says, if there is one.
func expireTime(sub map[string]any) any {
	x, _ := sub["postrider"].(map[string]any)
	return x["expireTime"]
}

func TestExpireTime(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	s, advance := later(t, subscriptions.Options{})
	s.withSubscription(`{}`)
	s.subscribe("audit", `{"expirationPolicy": {}}`).ok()
	advance(24*day - time.Minute)
	if got := s.do("GET " + subPath).ok(); got["postrider"] != nil {
		t.Errorf("too early: %v", got)
	}
	advance(time.Minute)
	got := s.do("GET " + subPath).ok()
	at, err := time.Parse(time.RFC3339, expireTime(got).(string))
	if left := time.Until(at); err != nil || left < 7*day-time.Minute || left > 7*day {
		t.Errorf("expires %v, in %v, %v", got, left, err)
	}
	listed := s.do("GET p/subscriptions").ok()["subscriptions"].([]any)
	if got := expireTime(listed[0].(map[string]any)); got != nil { // audit
		t.Errorf("never expires %v", got)
	}
	if got := expireTime(listed[1].(map[string]any)); got == nil {
		t.Errorf("listed without: %v", listed)
	}
	explain := "POST /postrider/v1/projects/" + subPath + ":explain"
	told := s.do(explain, "").ok()
	if warnings, _ := told["warnings"].([]any); len(warnings) != 1 || !strings.Contains(warnings[0].(string), "will be deleted") || told["expireTime"] == nil {
		t.Errorf("explained: %v", told)
	}
	// What was read can be written back, but not set.
	s.do("PATCH "+subPath, `{"subscription": `+encode(got)+`, "updateMask": "postrider.expireTime"}`).invalid("postrider.expireTime")
	patched := s.do("PATCH "+subPath, `{"subscription": `+encode(got)+`, "updateMask": "labels,postrider"}`).ok()
	if patched["postrider"] != nil { // a use
		t.Errorf("patched: %v", patched)
	}
	if told := s.do(explain, "").ok(); told["warnings"] != nil {
		t.Errorf("explained: %v", told)
	}
}

// A default of the server's is for what is created without a policy.
func TestDefaultExpiration(t *testing.T) {
	t.Parallel()
	for expiration, want := range map[time.Duration]string{subscriptions.NeverExpires: `{}`, 48 * time.Hour: `{"ttl":"172800s"}`} {
		s, _ := later(t, subscriptions.Options{Expiration: expiration})
		s.withSubscription(`{}`)
		policy := func(want string) {
			t.Helper()
			if got := encode(s.do("GET " + subPath).ok()["expirationPolicy"]); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		policy(want)
		s.do("PATCH "+subPath, `{"subscription": {"expirationPolicy": {"ttl": "90000s"}}, "updateMask": "expirationPolicy"}`).ok()
		policy(`{"ttl":"90000s"}`)
		s.do("PATCH "+subPath, `{"subscription": {}, "updateMask": "expirationPolicy"}`).ok()
		policy(want)
		s.do("PATCH "+subPath, `{"subscription": {"expirationPolicy": {}}, "updateMask": "expirationPolicy"}`).ok()
		policy(`{}`)
	}
}

// Numbers that may be too high say so.
func TestUpperBounds(t *testing.T) {
	t.Parallel()
	s, advance := later(t, subscriptions.Options{})
	s.withSubscription(`{"filter": "attributes:k"}`)
	s.subscribe("all", `{}`).ok()
	s.publish("a", "b")
	advance(6 * 24 * time.Hour)
	seek := func(id string) map[string]any {
		return s.do("POST /postrider/v1/projects/p/subscriptions/"+id+":seek", `{"time": "2100-01-01T00:00:00Z", "validateOnly": true}`).ok()
	}
	explain := func(id string) map[string]any {
		return s.do("POST /postrider/v1/projects/p/subscriptions/"+id+":explain", "").ok()
	}
	for id, want := range map[string]any{"billing": true, "all": nil} {
		if got := seek(id); got["upperBound"] != want || got["ackedMessages"] != "2" {
			t.Errorf("%s: %v", id, got)
		}
		got := explain(id)
		warnings, _ := got["warnings"].([]any)
		if got["upperBound"] != want || got["unackedBytes"] != "2" || len(warnings) != 1 || !strings.Contains(warnings[0].(string), "retention") {
			t.Errorf("%s: %v", id, got)
		}
	}
	s.do("POST "+subPath+":pull", `{"maxMessages": 10, "returnImmediately": true}`).ok()
	if got := seek("billing"); got["upperBound"] != nil {
		t.Errorf("after a look at all: %v", got)
	}
	if got := explain("billing"); got["upperBound"] != nil {
		t.Errorf("after a look at all: %v", got)
	}
}

// A missing dead-letter topic is the first thing that stands in the way.
func TestExplainsAMissingDeadLetterTopic(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	s.do("PUT p/topics/dead", `{}`).ok()
	s.subscribe("billing", `{"pushConfig": {"pushEndpoint": "https://example.com/"}, "deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead"}}`).ok()
	s.do("DELETE p/topics/dead").ok()
	got := s.do("POST /postrider/v1/projects/"+subPath+":explain", "").ok()
	if warnings, _ := got["warnings"].([]any); len(warnings) != 1 || !strings.Contains(warnings[0].(string), "projects/p/topics/dead does not exist") {
		t.Errorf("explained: %v", got)
	}
	s.do("PUT p/subscriptions/other", `{"topic": "projects/p/topics/orders", "deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead"}}`).
		fails(http.StatusNotFound, "NOT_FOUND", "dead")
}
