package server_test

import (
	"net/http"
	"testing"

	"postrider/subscriptions"
)

func TestCloseBreaker(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"pushConfig": {"pushEndpoint": "https://example.com/"}}`)
	const path = "POST /postrider/v1/projects/" + subPath + ":closeBreaker"
	s.do(path, "").is(`{}`)
	sub, err := s.service.GetSubscription(t.Context(), subscriptions.SubscriptionName{Project: "p", ID: "billing"})
	if err == nil {
		_, err = s.service.KeepPushBreaker(t.Context(), sub, subscriptions.Breaker{Open: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.do(path, `{}`).is(`{"wasOpen":true}`)
	s.do(path, `{}`).is(`{}`)
	s.do("POST /postrider/v1/projects/p/subscriptions/nowhere:closeBreaker", "").fails(http.StatusNotFound, "NOT_FOUND", "nowhere")
	s.do(path, `{"force": true}`).invalid("force")
	s.do("POST "+subPath+":modifyPushConfig", `{}`).ok()
	s.do(path, "").fails(http.StatusBadRequest, "FAILED_PRECONDITION", "not a push subscription")
}

func TestExplain(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"pushConfig": {"pushEndpoint": "https://example.com/"}}`)
	const path = "POST /postrider/v1/projects/" + subPath + ":explain"
	if got := s.do(path, "").ok(); got["summary"] != "there is nothing to push: every message is acknowledged" || got["expireTime"] == nil || len(got) != 2 {
		t.Errorf("explained: %v", got)
	}
	s.do("POST "+topicPath+":publish", `{"messages": [{"data": "YQ=="}]}`).ok()
	if got := s.do(path, `{}`).ok(); got["undelivered"] != "1" || got["oldestUnackedAge"] == nil && got["summary"] == "" {
		t.Errorf("explained: %v", got)
	}
	sub, err := s.service.GetSubscription(t.Context(), subscriptions.SubscriptionName{Project: "p", ID: "billing"})
	if err == nil {
		_, err = s.service.KeepPushBreaker(t.Context(), sub, subscriptions.Breaker{Open: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := s.do(path, `{}`).ok()["breaker"].(map[string]any); got["openTime"] == nil || got["nextProbeTime"] == nil {
		t.Errorf("the breaker is %v", got)
	}
	s.do("POST /postrider/v1/projects/p/subscriptions/nowhere:explain", "").fails(http.StatusNotFound, "NOT_FOUND", "nowhere")
}
