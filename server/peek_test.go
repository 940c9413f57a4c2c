package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

const (
	extensions     = "/postrider/v1/projects/"
	peekPath       = "POST " + extensions + subPath + ":peek"
	lettersPath    = "POST " + extensions + subPath + ":deadLetters"
	graveyard      = "p/topics/dead"
	graveyardPath  = "POST " + extensions + graveyard + ":deadLetters"
	missingLetters = "POST " + extensions + "p/subscriptions/missing:deadLetters"
)

// list is a list of objects in an answer.
func (a answer) list(name string) (all []fields) {
	a.t.Helper()
	items, _ := a.ok()[name].([]any)
	for _, item := range items {
		all = append(all, item.(fields))
	}
	return all
}

func TestPeek(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"retryPolicy": {"minimumBackoff": "60s"}}`)
	ids := s.publish("a")
	s.nack(subPath, s.one(subPath).AckID)
	s.publish("b")
	first := s.do(peekPath, `{"pageSize": 1}`)
	messages := first.list("messages")
	if len(messages) != 1 {
		t.Fatalf("peeked: %v", messages)
	}
	m := messages[0]
	if inner := m["message"].(fields); inner["data"] != "YQ==" || inner["messageId"] != ids[0] || inner["publishTime"] == "" {
		t.Errorf("the message is %v", inner)
	}
	if m["state"] != "WAITING" || m["attempts"] != float64(1) || m["lastError"] != "refused by the subscriber" {
		t.Errorf("it stands as %v", m)
	}
	next, err := time.Parse(time.RFC3339, fmt.Sprint(m["nextTime"]))
	if err != nil || time.Until(next) < 30*time.Second {
		t.Errorf("it is tried again at %v", m["nextTime"])
	}
	rest := s.do(peekPath, fmt.Sprintf(`{"pageToken": %q}`, first.ok()["nextPageToken"])).list("messages")
	if len(rest) != 1 || rest[0]["state"] != "NEW" || rest[0]["nextTime"] != nil {
		t.Errorf("then comes %v", rest)
	}
	s.do(peekPath, `{"pageSize": -1}`).invalid("pageSize")
	s.do(peekPath, `{"pageToken": "nonsense"}`).invalid("pageToken")
	s.do(peekPath, `{"pagesize": 1}`).invalid("pagesize")
	s.do("POST "+extensions+"p/subscriptions/missing:peek", `{}`).fails(http.StatusNotFound, "NOT_FOUND")
}

func TestDeadLetters(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.do("PATCH "+graveyard, `{"topic": {"labels": {"owner": "payments"}}, "updateMask": "labels"}`).ok()
		s.do("PUT p/subscriptions/graves", `{"topic": "projects/p/topics/dead"}`).ok()
		s.withSubscription("{" + withDeadLetters + "}")
		id := s.publish("hi")[0]
		for range 5 {
			s.nack(subPath, s.one(subPath).AckID)
		}
		time.Sleep(time.Minute)
		for _, path := range []string{lettersPath, graveyardPath} {
			letters := s.do(path, `{"filter": {"text": "HI"}}`).list("deadLetters")
			if len(letters) != 1 {
				t.Fatalf("%s: %v", path, letters)
			}
			d := letters[0]
			if d["deadLetterTopic"] != "projects/p/topics/dead" || d["owner"] != "payments" || d["deadLetterSubscription"] != "projects/p/subscriptions/graves" ||
				d["state"] != "NEW" || d["message"].(fields)["data"] != "aGk=" {
				t.Errorf("the dead letter is %v", d)
			}
			o := d["origin"].(fields)
			if o["subscription"] != "projects/"+subPath || o["topic"] != "projects/"+topicPath || o["messageId"] != id || o["attempts"] != float64(5) ||
				o["publishTime"] == nil {
				t.Errorf("it comes from %v", o)
			}
			s.do(path, fmt.Sprintf(`{"filter": {"messageIds": [%q]}}`, d["message"].(fields)["messageId"])).list("deadLetters")
			s.do(path, `{"filter": {"text": "no such text"}}`).is(`{}`)
			s.do(path, `{"filter": {"messageIds": ["x"]}}`).invalid("filter.messageIds[0]")
			s.do(path, `{"filter": {"subscription": "x"}}`).invalid("filter.subscription")
			s.do(path, `{"deadLetterSubscription": "x"}`).invalid("deadLetterSubscription")
			s.do(path, `{"filter": {"sinceTime": "2026-01-02T00:00:00Z", "beforeTime": "2026-01-01T00:00:00Z"}}`).invalid("filter.beforeTime")
		}
		s.do(missingLetters, `{"filter": {"messageIds": ["x"]}}`).fails(http.StatusNotFound, "NOT_FOUND")
		s.do("PUT p/subscriptions/plain", `{"topic": "projects/`+topicPath+`"}`).ok()
		s.do("POST "+extensions+"p/subscriptions/plain:deadLetters", `{}`).fails(http.StatusBadRequest, "FAILED_PRECONDITION")
	})
}
