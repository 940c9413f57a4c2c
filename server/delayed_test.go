package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

const delayedPath = "/postrider/v1/projects/" + topicPath

// publishAttributes publishes one message with attributes and returns its id.
func (s rest) publishAttributes(attributes fields) string {
	s.t.Helper()
	body := encode(fields{"messages": []fields{{"data": []byte("x"), "attributes": attributes}}})
	return s.do("POST "+topicPath+":publish", body).ok()["messageIds"].([]any)[0].(string)
}

// TestDelayedMessages: listed until it is due, absent until then, and then there as it was published.
func TestDelayedMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newREST(t).withSubscription(`{}`)
		published := time.Now().UTC().Format(time.RFC3339)
		due := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		attributes := fields{"postrider-deliver-at": due, "k": "v"}
		id := s.publishAttributes(attributes)
		s.do("POST "+delayedPath+":delayed", `{"pageSize": 1}`).is(fmt.Sprintf(`{"messages": [{"messageId": %q, "publishTime": %q,
			"dueTime": %q, "attributes": %s, "bytes": "43"}], "totalMessages": "1", "totalBytes": "43"}`, id, published, due, encode(attributes)))
		time.Sleep(59 * time.Second)
		s.none(subPath)
		time.Sleep(2 * time.Second)
		got := s.one(subPath).Message
		if got.MessageID != id || got.PublishTime != published || got.Attributes["postrider-deliver-at"] != due || got.Attributes["k"] != "v" {
			t.Errorf("got %+v, published as %s at %s", got, id, published)
		}
		s.do("POST "+delayedPath+":delayed", `{}`).is(`{}`)
	})
}

func TestCancelDelayed(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{}`)
	id := s.publishAttributes(fields{"postrider-deliver-at": "3600s"})
	cancel := func(body string) answer { return s.do("POST "+delayedPath+":cancelDelayed", body) }
	cancel(`{}`).invalid("messageIds")
	cancel(`{"messageIds": ["nonsense"]}`).invalid("messageIds[0]", "nonsense")
	cancel(`{"messageIds": ["1-1"]}`).is(`{}`)
	cancel(`{"messageIds": ["1-1", "` + id + `"]}`).is(`{"messageIds": ["` + id + `"]}`)
	cancel(`{"messageIds": ["` + id + `"]}`).is(`{}`)
	for _, verb := range []string{":delayed", ":cancelDelayed"} {
		s.do("POST /postrider/v1/projects/p/topics/missing"+verb, `{}`).fails(http.StatusNotFound, "NOT_FOUND")
	}
	s.do("POST "+delayedPath+":delayed", `{"pageToken": "x"}`).invalid("pageToken")
}

// TestTimedMessagesAreJudged: a form that is not known is refused with those that are, and nothing is stored.
func TestTimedMessagesAreJudged(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{}`)
	for body, words := range map[string][]string{
		`{"attributes": {"postrider-ttl": "1h"}}`:                               {"messages[0].attributes", "postrider-ttl", "90s"},
		`{"attributes": {"postrider-deliver-at": "noon"}}`:                      {"postrider-deliver-at", "RFC 3339", "90s"},
		`{"attributes": {"postrider-deliver-at": "99999999"}}`:                  {"postrider-deliver-at", "31 days"},
		`{"attributes": {"postrider-deliver-at": "5"}, "orderingKey": "k"}`:     {"orderingKey"},
		`{"attributes": {"postrider-deliverat": "5"}}`:                          {"postrider-deliverat"},
		`{"attributes": {"postrider-dead-letter-reason": "a reserved one"}}`:    {"postrider-"},
		`{"attributes": {"postrider-ttl": "0"}, "data": "YQ=="}`:                {"more than 0"},
		`{"attributes": {"postrider-ttl": "2678400.5"}}`:                        {"at most 2678400"},
		`{"attributes": {"postrider-deliver-at": "2000-13-01T00:00:00Z"}}`:      {"RFC 3339"},
		`{"attributes": {"postrider-deliver-at": "9999-01-01T00:00:00+01:00"}}`: {"31 days"},
	} {
		s.do("POST "+topicPath+":publish", `{"messages": [{"data": "YQ=="}]}`).ok()
		s.do("POST "+topicPath+":publish", `{"messages": [`+body+`]}`).invalid(words...)
		s.ack(subPath, s.one(subPath).AckID).ok()
	}
}

// TestExpiredMessages: what becomes of them is a property of the subscription.
func TestExpiredMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newREST(t).withSubscription(`{}`)
		s.subscribe("bad", `{"postrider": {"expiredMessages": "DEAD_LETTER"}}`).invalid("deadLetterPolicy")
		s.subscribe("bad", `{"postrider": {"expiredMessages": "KEEP"}}`).invalid("expiredMessages")
		s.do("PUT "+deadPath, `{}`).ok()
		made := s.subscribe("kept", `{"deadLetterPolicy": {"deadLetterTopic": "projects/`+deadPath+`"}, "postrider": {"expiredMessages": "DEAD_LETTER"}}`).ok()
		if x, _ := made["postrider"].(fields); x["expiredMessages"] != "DEAD_LETTER" {
			t.Errorf("made %v", made)
		}
		s.publishAttributes(fields{"postrider-ttl": "60"})
		time.Sleep(59 * time.Second)
		got := s.one(subPath)
		time.Sleep(2 * time.Second)
		s.none("p/subscriptions/kept")
		s.ack(subPath, got.AckID).ok()
		if dropped, kept := s.stats("billing"), s.stats("kept"); dropped.Acked != 1 || kept.Dead != 1 {
			t.Errorf("stats are %+v and %+v", dropped, kept)
		}
		patched := s.do("PATCH p/subscriptions/kept", `{"subscription": {"postrider": {"expiredMessages": "DROP"}}, "updateMask": "postrider.expiredMessages"}`).ok()
		if _, shown := patched["postrider"]; shown {
			t.Errorf("patched %v", patched)
		}
	})
}
