package server_test

import (
	"net/http"
	"testing"
	"time"

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
	if got := s.do(path, "").ok(); got["summary"] != "there is nothing to push: no message waits" || got["expireTime"] == nil || len(got) != 2 {
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
	err = s.service.ReportPush(t.Context(), sub, subscriptions.PushReport{
		At: time.Unix(1_700_000_000, 0), Window: 40, Limit: 30, InFlight: 7, Backoff: time.Unix(1_700_000_001, 0),
		Errors: []subscriptions.PushError{{Attempt: subscriptions.Attempt{Number: 2, Failure: subscriptions.Failure{Status: 503, Reason: "no"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	once := s.do(path, `{}`).ok()
	if push, _ := once["push"].(map[string]any); push["window"] != 40.0 || push["backoffUntilTime"] != "2023-11-14T22:13:21Z" || push["answered"] != nil {
		t.Errorf("the push state is %v", push)
	}
	again := s.do(path, `{}`).ok()
	delete(once, "oldestUnackedAge")
	delete(again, "oldestUnackedAge")
	if encode(again) != encode(once) {
		t.Errorf("a moment later %v, first %v", again, once)
	}
	s.do("POST "+subPath+":modifyPushConfig", `{}`).ok()
	if got := s.do(path, `{}`).ok(); got["breaker"] != nil || got["owner"] != nil || got["push"] != nil {
		t.Errorf("of a pull subscription: %v", got)
	}
	s.do("POST /postrider/v1/projects/p/subscriptions/nowhere:explain", "").fails(http.StatusNotFound, "NOT_FOUND", "nowhere")
}
