package server_test

import (
	"fmt"
	"net/http"
	"testing"
)

func TestSubscriptionDefaults(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	want := `{
		"name": "projects/p/subscriptions/billing", "topic": "projects/p/topics/orders", "state": "ACTIVE",
		"ackDeadlineSeconds": 10, "messageRetentionDuration": "604800s", "expirationPolicy": {"ttl": "2678400s"}}`
	s.do("PUT "+subPath, `{"topic": "projects/p/topics/orders"}`).is(want)
	s.do("GET " + subPath).is(want)
	s.do("GET p/subscriptions").is(`{"subscriptions": [` + want + `]}`)
	s.do("PUT "+subPath, `{"topic": "projects/p/topics/orders"}`).fails(http.StatusConflict, "ALREADY_EXISTS", "projects/p/subscriptions/billing")
	s.do("DELETE " + subPath).is(`{}`)
	s.do("GET "+subPath).fails(http.StatusNotFound, "NOT_FOUND", "projects/p/subscriptions/billing")
}

func TestSubscriptionSettings(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.do("PUT "+deadPath, "{}").ok()
	s.withSubscription(`{
		"ackDeadlineSeconds": 600, "messageRetentionDuration": "600.5s", "expirationPolicy": {"ttl": "86400s"},
		"retryPolicy": {"minimumBackoff": "0.001s", "maximumBackoff": "600s"},
		"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead", "maxDeliveryAttempts": 100},
		"pushConfig": {"pushEndpoint": "https://example.com/push?a=b", "attributes": {"x-goog-version": "v1"}},
		"labels": {"team": "a"}, "tags": {"1/2": "x"}, "detached": true, "state": "RESOURCE_ERROR",
		"analyticsHubSubscriptionInfo": {"listing": "x"}, "topicMessageRetentionDuration": "1s"}`)
	s.do("GET " + subPath).is(`{
		"name": "projects/p/subscriptions/billing", "topic": "projects/p/topics/orders", "state": "ACTIVE",
		"ackDeadlineSeconds": 600, "messageRetentionDuration": "600.500s", "expirationPolicy": {"ttl": "86400s"},
		"retryPolicy": {"minimumBackoff": "0.001s", "maximumBackoff": "600s"},
		"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead", "maxDeliveryAttempts": 100},
		"pushConfig": {"pushEndpoint": "https://example.com/push?a=b", "attributes": {"x-goog-version": "v1"}},
		"labels": {"team": "a"}}`)
}

// What presence means for settings that are objects.
func TestPresence(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	s.do("PUT "+deadPath, "{}").ok()
	for id, c := range map[string]struct{ settings, field, want string }{
		"ttl-absent":      {`{}`, "expirationPolicy", `{"ttl": "2678400s"}`},
		"ttl-never":       {`{"expirationPolicy": {}}`, "expirationPolicy", `{}`},
		"ttl-null":        {`{"expirationPolicy": null}`, "expirationPolicy", `{"ttl": "2678400s"}`},
		"retry-defaults":  {`{"retryPolicy": {}}`, "retryPolicy", `{"minimumBackoff": "10s", "maximumBackoff": "600s"}`},
		"retry-zero":      {`{"retryPolicy": {"minimumBackoff": "0s"}}`, "retryPolicy", `{"minimumBackoff": "0s", "maximumBackoff": "600s"}`},
		"attempts-absent": {`{"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead"}}`, "deadLetterPolicy", `{"deadLetterTopic": "projects/p/topics/dead", "maxDeliveryAttempts": 5}`},
		"push-versioned":  {`{"pushConfig": {"pushEndpoint": "http://h/"}}`, "pushConfig", `{"pushEndpoint": "http://h/", "attributes": {"x-goog-version": "v1"}}`},
		"push-wrapped":    {`{"pushConfig": {"pushEndpoint": "http://h/", "pubsubWrapper": {}}}`, "pushConfig", `{"pushEndpoint": "http://h/", "pubsubWrapper": {}, "attributes": {"x-goog-version": "v1"}}`},
		"push-bare":       {`{"pushConfig": {"pushEndpoint": "http://h/", "noWrapper": {}}}`, "pushConfig", `{"pushEndpoint": "http://h/", "noWrapper": {}, "attributes": {"x-goog-version": "v1"}}`},
		"push-metadata":   {`{"pushConfig": {"pushEndpoint": "http://h/", "noWrapper": {"writeMetadata": true}}}`, "pushConfig", `{"pushEndpoint": "http://h/", "noWrapper": {"writeMetadata": true}, "attributes": {"x-goog-version": "v1"}}`},
	} {
		got, _ := s.subscribe(id, c.settings).ok()[c.field].(fields)
		if encode(got) != encode(parsed(t, c.want)) {
			t.Errorf("%s: %s is %v, want %s", c.settings, c.field, got, c.want)
		}
	}
	for _, pulled := range []string{
		`{}`, `{"pushConfig": {}}`, `{"pushConfig": null}`, `{"pushConfig": {"attributes": {}}}`, `{"pushConfig": {"pubsubWrapper": {}}}`,
	} {
		if got := s.subscribe("pulled", pulled).ok()["pushConfig"]; got != nil {
			t.Errorf("%s: pushConfig is %v", pulled, got)
		}
		s.none("p/subscriptions/pulled")
		s.do("DELETE p/subscriptions/pulled").ok()
	}
}

func TestModifyPushConfig(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	s.publish("kept")
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {"pushEndpoint": "https://example.com/"}}`).is(`{}`)
	s.do("POST "+subPath+":pull", `{"maxMessages": 1}`).fails(http.StatusBadRequest, "FAILED_PRECONDITION", "push subscription")
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {}}`).is(`{}`)
	if got := encode(s.do("GET " + subPath).ok()["pushConfig"]); got != `{"attributes":{"x-goog-version":"v1"}}` {
		t.Errorf("a cleared pushConfig reads %s", got)
	}
	s.one(subPath)
	s.do("POST "+subPath+":modifyPushConfig", `{}`).is(`{}`)
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {"pushEndpoint": "ftp://example.com/"}}`).invalid("pushConfig.pushEndpoint", "http or https")
	s.do("POST p/subscriptions/missing:modifyPushConfig", `{"pushConfig": {"pushEndpoint": "ftp://example.com/"}}`).fails(http.StatusNotFound, "NOT_FOUND")
}

// A change of the wrapper, in every way there is.
func TestWrapperMasks(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	const pushed, bare = `"pushEndpoint": "http://h/"`, `"noWrapper": {}`
	for i, c := range []struct{ before, change, mask, want string }{
		{pushed, bare, "pushConfig.noWrapper", pushed + "," + bare},
		{pushed, bare, "pushConfig.no_wrapper", pushed + "," + bare},
		{pushed, bare, "pushConfig", ""},
		{pushed, bare, "labels", pushed},
		{pushed, ``, "pushConfig.noWrapper", pushed},
		{pushed + `,"noWrapper": {"writeMetadata": true}`, ``, "pushConfig.noWrapper", pushed},
		{pushed + `,"noWrapper": {"writeMetadata": true}`, bare, "pushConfig.noWrapper", pushed + "," + bare},
		{pushed + `,"noWrapper": {"writeMetadata": true}`, bare, "pushConfig.noWrapper.writeMetadata", pushed + "," + bare},
		{pushed + `,"noWrapper": {"writeMetadata": true}`, ``, "pushConfig.noWrapper.writeMetadata", pushed + "," + bare},
		{pushed, `"noWrapper": {"writeMetadata": true}`, "pushConfig.noWrapper.writeMetadata", pushed + `,"noWrapper": {"writeMetadata": true}`},
		{pushed, ``, "pushConfig.noWrapper.writeMetadata", pushed},
		{pushed + "," + bare, ``, "pushConfig.pubsubWrapper", pushed + "," + bare},
		{pushed + "," + bare, `"pubsubWrapper": {}`, "pushConfig.pubsubWrapper", pushed + `,"pubsubWrapper": {}`},
		{pushed + `,"pubsubWrapper": {}`, bare, "pushConfig.noWrapper,pushConfig.pubsubWrapper", pushed + "," + bare},
		{pushed + `,"pubsubWrapper": {}`, ``, "pushConfig.pubsubWrapper", pushed},
		{pushed + "," + bare, `"pushEndpoint": "http://i/"`, "pushConfig.pushEndpoint", `"pushEndpoint": "http://i/",` + bare},
		{pushed + "," + bare, ``, "pushConfig.pushEndpoint", `"pushEndpoint": ""`},
		{pushed + "," + bare, `"pushEndpoint": "http://i/"`, "pushConfig", `"pushEndpoint": "http://i/"`},
		{`"pushEndpoint": ""`, bare, "pushConfig.noWrapper", ""},
		{`"pushEndpoint": ""`, bare, "pushConfig", ""},
		{`"pushEndpoint": ""`, `"pubsubWrapper": {}`, "pushConfig.pubsubWrapper", `"pushEndpoint": ""`},
		{`"pushEndpoint": ""`, pushed + "," + bare, "pushConfig.pushEndpoint,pushConfig.noWrapper", pushed + "," + bare},
	} {
		id := fmt.Sprintf("masked-%d", i)
		s.subscribe(id, `{"pushConfig": {`+c.before+`}}`).ok()
		got := s.do("PATCH p/subscriptions/"+id, fmt.Sprintf(`{"subscription": {"pushConfig": {%s}}, "updateMask": "%s"}`, c.change, c.mask))
		if c.want == "" {
			got.invalid("pushConfig.noWrapper", "pushEndpoint")
			continue
		}
		push, _ := got.ok()["pushConfig"].(fields)
		delete(push, "attributes")
		want := parsed(t, `{`+c.want+`}`)
		if want["pushEndpoint"] == "" {
			delete(want, "pushEndpoint")
		}
		if encode(push) != encode(want) && len(push)+len(want) > 0 {
			t.Errorf("{%s} and %s of {%s}: %v, want %v", c.before, c.mask, c.change, push, want)
		}
	}
	s.subscribe("bare", `{"pushConfig": {"noWrapper": {}}}`).invalid("pushConfig.noWrapper", "pushEndpoint")
	s.do("POST p/subscriptions/masked-1:modifyPushConfig", `{"pushConfig": {"noWrapper": {}}}`).invalid("pushConfig.noWrapper", "pushEndpoint")
}

func TestDetach(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	s.publish("dropped")
	for _, body := range []string{"", "{}", " \n"} { // Google's clients send none; again is no error
		s.do("POST "+subPath+":detach", body).is(`{}`)
	}
	if s.do("GET " + subPath).ok()["detached"] != true {
		t.Error("it does not read as detached")
	}
	s.do("POST "+subPath+":pull", `{"maxMessages": 1}`).fails(http.StatusBadRequest, "FAILED_PRECONDITION", "detached")
	s.do("POST "+subPath+":detach", `{"force": true}`).invalid("force")
	s.do("POST p/subscriptions/missing:detach").fails(http.StatusNotFound, "NOT_FOUND")
}

// A missing resource is reported before the content of the request is judged.
func TestMissingComesFirst(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	for request, body := range map[string]string{
		"PATCH p/topics/missing":                          `{"topic": {"kmsKeyName": "k"}, "updateMask": "kmsKeyName"}`,
		"PATCH p/topics/missing?updateMask=name":          `{"topic": {"name": "projects/p/topics/other"}}`,
		"PATCH p/topics/missing?x=":                       `{}`,
		"POST p/topics/missing:publish":                   `{}`,
		"GET p/topics/missing/subscriptions?pageToken=x":  "",
		"PUT p/subscriptions/new":                         `{"topic": "projects/p/topics/missing", "ackDeadlineSeconds": 1, "filter": "x"}`,
		"PUT p/subscriptions/news":                        `{"topic": "projects/p/topics/missing", "name": "other", "messageRetentionDuration": "0s"}`,
		"PATCH p/subscriptions/missing":                   `{"subscription": {"ackDeadlineSeconds": 1}, "updateMask": "ackDeadlineSeconds"}`,
		"PATCH p/subscriptions/missing?updateMask=bogus":  `{"subscription": {"deadLetterPolicy": {"deadLetterTopic": "x"}}}`,
		"PATCH p/subscriptions/missing?updateMask=labels": `{"subscription": {"name": "x"}}`,
		"POST p/subscriptions/missing:pull":               `{"maxMessages": -1}`,
		"POST p/subscriptions/missing:acknowledge":        `{"ackIds": ["x"]}`,
		"POST p/subscriptions/missing:modifyAckDeadline":  `{"ackDeadlineSeconds": 601}`,
		"POST p/subscriptions/missing:modifyPushConfig":   `{"pushConfig": {"noWrapper": {}}}`,
		"POST p/subscriptions/missing:detach":             ``,
		"DELETE p/subscriptions/missing":                  ``,
		"PUT p/subscriptions/dead":                        `{"topic": "projects/p/topics/orders", "deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/missing"}}`,
	} {
		s.do(request, body).fails(http.StatusNotFound, "NOT_FOUND", "missing does not exist")
	}
}

// The name in a body is the one in the path, or absent.
func TestNameInBody(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.do("PUT "+topicPath, `{"name": "projects/p/topics/other"}`).invalid("name", "projects/p/topics/other", "projects/p/topics/orders")
	s.do("PUT "+topicPath, `{"name": "projects/p/topics/orders"}`).ok()
	s.subscribe("billing", `{"name": "billing"}`).invalid("name", "projects/p/subscriptions/billing")
	s.subscribe("billing", `{"name": "projects/p/subscriptions/billing"}`).ok()
	s.do("PATCH "+topicPath, `{"topic": {"name": "projects/q/topics/orders"}, "updateMask": "labels"}`).invalid("name")
	s.do("PATCH "+subPath, `{"subscription": {"name": "projects/q/subscriptions/billing"}, "updateMask": "labels"}`).invalid("name")
	s.do("PATCH "+subPath, `{"subscription": {"name": "projects/p/subscriptions/billing"}, "updateMask": "labels"}`).ok()
}
