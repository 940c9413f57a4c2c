package server_test

import (
	"fmt"
	"net/http"
	"testing"
)

// A filter and a routing are shown, and select what is pulled.
func TestFilters(t *testing.T) {
	t.Parallel()
	const settings = `{"filter": "attributes.kind != \"test\"", "postrider": {"routing": {"attribute": "subject", "pattern": "stock.*"}}}`
	s := newREST(t).withSubscription(settings)
	got := s.do("GET " + subPath).ok()
	if encode(fields{"filter": got["filter"], "postrider": got["postrider"]}) != encode(parsed(t, settings)) {
		t.Errorf("it reads %v", got)
	}
	s.do("POST "+topicPath+":publish", `{"messages": [
		{"data": "YQ==", "attributes": {"subject": "stock.ibm"}},
		{"data": "Yg==", "attributes": {"subject": "stock.ibm", "kind": "test"}},
		{"data": "Yw==", "attributes": {"subject": "bond.ibm"}},
		{"data": "ZA=="}
	]}`).ok()
	messages := s.do("POST "+subPath+":pull", `{"maxMessages": 10, "returnImmediately": true}`).ok()["receivedMessages"].([]any)
	if len(messages) != 1 || messages[0].(fields)["message"].(fields)["data"] != "YQ==" {
		t.Errorf("pulled %v", messages)
	}
}

func TestBadFilters(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	for settings, word := range map[string]string{
		`{"filter": "attributes:a OR attributes:b AND attributes:c"}`:                         "filter: unexpected AND at 30: use parentheses to mix AND and OR",
		`{"filter": "name = \"x\""}`:                                                          "filter: unexpected name at 1",
		`{"filter": 5}`:                                                                       "filter",
		`{"postrider": {"routing": {"pattern": "#"}}}`:                                        "postrider.routing.attribute:",
		`{"postrider": {"routing": {"attribute": "a"}}}`:                                      "postrider.routing.pattern: is empty",
		`{"postrider": {"routing": {"attribute": "a", "pattern": "x#"}}}`:                     "postrider.routing.pattern:",
		`{"postrider": {"routing": {"attribute": "a", "pattern": "x", "exchange": "topic"}}}`: "exchange",
		`{"postrider": {"routing": {}}}`:                                                      "postrider.routing.attribute:",
	} {
		s.subscribe("other", settings).invalid(word)
	}
	s.do("GET p/subscriptions/other").fails(http.StatusNotFound, "NOT_FOUND")
}

// Neither can be changed; what else stands in the object postrider can.
func TestFiltersStay(t *testing.T) {
	t.Parallel()
	const routing = `"routing": {"attribute": "subject", "pattern": "stock.*"}`
	s := newREST(t).withSubscription(`{"filter": "attributes:a", "postrider": {` + routing + `}}`)
	patch := func(settings, mask string) answer {
		return s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": %s, "updateMask": "%s"}`, settings, mask))
	}
	for _, mask := range []string{"filter", "postrider.routing", "postrider.routing.pattern"} {
		patch(`{"filter": "attributes:b"}`, mask).invalid("updateMask", mask+" cannot be changed")
	}
	patch(`{"postrider": {"pushLimits": {"maxOutstanding": 5}}}`, "postrider").invalid("postrider.routing: cannot be changed")
	patch(`{"postrider": {"pushLimits": {"maxOutstanding": 5}}}`, "postrider.pushLimits").ok()
	got := patch(`{"postrider": {"pushLimits": {"maxOutstanding": 6}, `+routing+`}}`, "postrider").ok()
	if encode(got["postrider"]) != encode(parsed(t, `{"pushLimits": {"maxOutstanding": 6}, `+routing+`}`)) || got["filter"] != "attributes:a" {
		t.Errorf("it reads %v", got)
	}
	if got := patch(`{"filter": "attributes:b", "labels": {"a": "b"}}`, "labels").ok(); got["filter"] != "attributes:a" {
		t.Errorf("a filter beside the mask changed it to %v", got["filter"])
	}
}
