package server_test

import (
	"net/http"
	"testing"
	"time"
)

const snapPath = "p/snapshots/snap"

func TestSnapshots(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.do("PUT "+snapPath, `{"subscription": "projects/p/subscriptions/billing"}`).fails(http.StatusNotFound, "NOT_FOUND", "billing")
	s.withSubscription("{}")
	s.publish("a", "b")
	s.do("PUT "+snapPath, `{}`).invalid("subscription:")
	s.do("PUT p/snapshots/goog", `{"subscription": "projects/p/subscriptions/billing"}`).invalid("snapshot")
	s.do("PUT "+snapPath, `{"subscription": "projects/p/subscriptions/billing", "labels": {"A": "b"}}`).invalid("labels")
	made := s.do("PUT "+snapPath, `{"subscription": "projects/p/subscriptions/billing", "labels": {"a": "b"}, "tags": {"1/e": "p"}}`).ok()
	expires, err := time.Parse(time.RFC3339Nano, made["expireTime"].(string))
	if left := time.Until(expires); err != nil || left < 7*24*time.Hour-time.Minute || left > 7*24*time.Hour {
		t.Errorf("it expires in %v (%v)", left, err)
	}
	whole := encode(fields{"name": "projects/p/snapshots/snap", "topic": "projects/p/topics/orders", "labels": fields{"a": "b"}, "expireTime": made["expireTime"]})
	if encode(made) != whole {
		t.Errorf("created %v", made)
	}
	s.do("PUT "+snapPath, `{"subscription": "projects/p/subscriptions/billing"}`).fails(http.StatusConflict, "ALREADY_EXISTS")
	s.do("GET " + snapPath).is(whole)
	s.do("GET p/snapshots").is(`{"snapshots": [` + whole + `]}`)
	s.do("GET p/topics/orders/snapshots").is(`{"snapshots": ["projects/p/snapshots/snap"]}`)
	s.do("GET p/topics/other/snapshots").fails(http.StatusNotFound, "NOT_FOUND")
	sooner := time.Now().Add(2 * time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	got := s.do("PATCH "+snapPath, `{"snapshot": {"expireTime": "`+sooner+`"}, "updateMask": "expireTime,labels"}`).ok()
	if got["expireTime"] != sooner || got["labels"] != nil {
		t.Errorf("patched %v", got)
	}
	s.do("PATCH "+snapPath+"?updateMask=expire_time", `{"snapshot": {"expireTime": "2020-01-01T00:00:00Z"}}`).invalid("expireTime:")
	s.do("PATCH "+snapPath, `{"snapshot": {"name": "projects/p/snapshots/other"}, "updateMask": "labels"}`).invalid("name:")
	s.do("PATCH "+snapPath, `{"snapshot": {"topic": "x"}, "updateMask": "topic"}`).invalid("topic")
	s.do("PATCH p/snapshots/missing", `{"updateMask": "bogus"}`).fails(http.StatusNotFound, "NOT_FOUND")
	s.do("DELETE p/topics/orders").ok()
	if got := s.do("GET " + snapPath).ok(); got["topic"] != "_deleted-topic_" {
		t.Errorf("after its topic it reads %v", got)
	}
	s.do("DELETE " + snapPath).is(`{}`)
	s.do("DELETE "+snapPath).fails(http.StatusNotFound, "NOT_FOUND")
}

func TestSeek(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.do("POST "+subPath+":seek", `{"snapshot": "bogus"}`).fails(http.StatusNotFound, "NOT_FOUND")
	s.withSubscription(`{"retainAckedMessages": true}`)
	s.publish("a", "b")
	s.do("PUT "+snapPath, `{"subscription": "projects/p/subscriptions/billing"}`).ok()
	pulled := func(want int) []any {
		t.Helper()
		got, _ := s.do("POST "+subPath+":pull", `{"maxMessages": 10, "returnImmediately": true}`).ok()["receivedMessages"].([]any)
		if len(got) != want {
			t.Fatalf("pulled %d messages, want %d", len(got), want)
		}
		return got
	}
	pulled(2)
	s.do("POST "+subPath+":seek", `{"time": "2100-01-01T00:00:00Z"}`).is(`{}`)
	pulled(0)
	s.do("POST "+subPath+":seek", `{"time": "2020-01-01T00:00:00.123456789+01:00"}`).is(`{}`)
	pulled(2)
	s.do("POST "+subPath+":seek", `{"time": "2100-01-01T00:00:00Z"}`).ok()
	s.do("POST "+subPath+":seek", `{"snapshot": "projects/p/snapshots/snap"}`).is(`{}`)
	pulled(2)
	s.do("POST "+subPath+":seek", `{}`).invalid("time or a snapshot")
	s.do("POST "+subPath+":seek", `{"time": "2100-01-01T00:00:00Z", "snapshot": "projects/p/snapshots/snap"}`).invalid("time or a snapshot")
	s.do("POST "+subPath+":seek", `{"snapshot": "snap"}`).invalid("snapshot:")
	s.do("POST "+subPath+":seek", `{"snapshot": "projects/p/snapshots/missing"}`).fails(http.StatusNotFound, "NOT_FOUND", "missing")
	s.do("POST "+subPath+":seek", `{"time": "soon"}`).invalid("time")
}

func TestSeekUndoably(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	seek := "POST /postrider/v1/projects/" + subPath + ":seek"
	s.do(seek, `{"time": "2100-01-01T00:00:00Z"}`).fails(http.StatusNotFound, "NOT_FOUND")
	s.withSubscription("{}")
	s.publish("a", "b", "c")
	s.do(seek, `{}`).invalid("time or a snapshot")
	s.do(seek, `{"time": "2100-01-01T00:00:00Z", "validateOnly": true}`).is(`{"ackedMessages": "3", "unackedMessages": "0"}`)
	s.do("GET p/snapshots").is(`{}`)
	done := s.do(seek, `{"time": "2100-01-01T00:00:00Z"}`).ok()
	name, _ := done["undoSnapshot"].(string)
	s.do("GET /v1/" + name).ok()
	s.do(seek, `{"snapshot": "`+name+`", "validateOnly": true}`).is(`{"ackedMessages": "0", "unackedMessages": "3"}`)
	s.do(seek, `{"snapshot": "`+name+`", "withoutUndo": true}`).is(`{}`)
	got, _ := s.do("POST "+subPath+":pull", `{"maxMessages": 10}`).ok()["receivedMessages"].([]any)
	if len(got) != 3 {
		t.Errorf("%d messages came back", len(got))
	}
	s.do("GET p/topics/orders/snapshots").is(`{"snapshots": ["` + name + `"]}`)
}
