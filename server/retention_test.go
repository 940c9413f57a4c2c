package server_test

import "testing"

// Retention of a topic, which its subscriptions show, and of what a subscription acked.
func TestRetention(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.do("PUT "+topicPath, `{"messageRetentionDuration": "600s"}`).is(`{"name": "projects/p/topics/orders", "state": "ACTIVE", "messageRetentionDuration": "600s"}`)
	sub := s.subscribe("billing", `{"retainAckedMessages": true}`).ok()
	if sub["topicMessageRetentionDuration"] != "600s" || sub["retainAckedMessages"] != true {
		t.Errorf("created %v", sub)
	}
	s.do("PATCH "+topicPath, `{"topic": {"messageRetentionDuration": "1200s"}, "updateMask": "messageRetentionDuration"}`).ok()
	if got := s.do("GET " + subPath).ok(); got["topicMessageRetentionDuration"] != "1200s" {
		t.Errorf("got %v", got)
	}
	if got := s.do("PATCH "+subPath, `{"subscription": {}, "updateMask": "retainAckedMessages"}`).ok(); got["retainAckedMessages"] != nil {
		t.Errorf("patched %v", got)
	}
	for _, wrong := range []string{"599s", "2678401s", "0s", "-600s"} {
		s.do("PUT p/topics/other", `{"messageRetentionDuration": "`+wrong+`"}`).invalid("messageRetentionDuration:")
		s.do("PATCH "+topicPath, `{"topic": {"messageRetentionDuration": "`+wrong+`"}, "updateMask": "messageRetentionDuration"}`).invalid("messageRetentionDuration:")
	}
	s.do("PATCH "+topicPath, `{"topic": {}, "updateMask": "messageRetentionDuration"}`).is(`{"name": "projects/p/topics/orders", "state": "ACTIVE"}`)
	if got := s.do("GET " + subPath).ok(); got["topicMessageRetentionDuration"] != nil {
		t.Errorf("got %v", got)
	}
}
