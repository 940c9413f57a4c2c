package server_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// Ack ids without effect are named in Google's words, and the good ids of the request take effect.
func TestExactlyOnceAckIDsThatFail(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"enableExactlyOnceDelivery": true}`)
	s.publish("a", "b")
	got := s.pull(subPath)
	s.nack(subPath, got[1].AckID)
	answer := s.ack(subPath, got[0].AckID, got[1].AckID)
	answer.fails(http.StatusBadRequest, "INVALID_ARGUMENT", "ackIds", "1 of 2", "billing")
	var body struct {
		Error struct {
			Details []struct {
				Type           string `json:"@type"`
				Reason, Domain string
				Metadata       map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(answer.body), &body); err != nil || len(body.Error.Details) != 1 {
		t.Fatalf("%v: %s", err, answer.body)
	}
	info := body.Error.Details[0]
	if info.Type != "type.googleapis.com/google.rpc.ErrorInfo" || info.Reason != "EXACTLY_ONCE_ACKID_FAILURE" || info.Domain != "pubsub.googleapis.com" ||
		len(info.Metadata) != 1 || info.Metadata[got[1].AckID] != "PERMANENT_FAILURE_INVALID_ACK_ID" {
		t.Errorf("the detail is %+v", info)
	}
	if acked := s.stats("billing").Acked; acked != 1 {
		t.Errorf("%d are acked, want the good one", acked)
	}
}

func TestExactlyOnceIsShownAndChanged(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"enableExactlyOnceDelivery": true}`)
	if s.do("GET " + subPath).ok()["enableExactlyOnceDelivery"] != true {
		t.Error("it is not shown")
	}
	s.do("POST "+subPath+":modifyPushConfig", `{"pushConfig": {"pushEndpoint": "https://example.com"}}`).invalid("enableExactlyOnceDelivery", "pull")
	s.do("PATCH "+subPath, `{"updateMask": "enableExactlyOnceDelivery"}`).ok()
	if got, ok := s.do("GET " + subPath).ok()["enableExactlyOnceDelivery"]; ok {
		t.Errorf("turned off it is %v", got)
	}
	s.subscribe("push", `{"enableExactlyOnceDelivery": true, "pushConfig": {"pushEndpoint": "https://example.com"}}`).invalid("enableExactlyOnceDelivery")
}
