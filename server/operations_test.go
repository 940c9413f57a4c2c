package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// ended waits until an operation has ended, and gives its metadata and its error.
func (s rest) ended(op fields) (metadata, failure fields) {
	s.t.Helper()
	for range 600 {
		got := s.do("GET /postrider/v1/" + op["name"].(string)).ok()
		if done, _ := got["done"].(bool); done {
			failure, _ = got["error"].(fields)
			return got["metadata"].(fields), failure
		}
		time.Sleep(time.Second)
	}
	s.t.Fatalf("%v does not end", op)
	return nil, nil
}

// What the issue must hold: three subscriptions, one dead letter of the second, redriven twice.
func TestRedriveTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.do("PUT p/subscriptions/graves", `{"topic": "projects/p/topics/dead"}`).ok()
		s.withSubscription("{" + withDeadLetters + "}")
		for _, id := range []string{"first", "third"} {
			s.subscribe(id, "{"+withDeadLetters+"}").ok()
		}
		id := s.publish("hi")[0]
		for _, other := range []string{"p/subscriptions/first", "p/subscriptions/third"} {
			s.ack(other, s.one(other).AckID).ok()
		}
		var published string
		for times := range 3 {
			for attempt := 1; attempt <= 5; attempt++ {
				got := s.one(subPath)
				if published == "" {
					published = got.Message.PublishTime
				}
				if got.Message.MessageID != id || got.Message.PublishTime != published || got.DeliveryAttempt != attempt || string(got.Message.Data) != "hi" {
					t.Fatalf("redriven %d times, attempt %d is %+v", times, attempt, got)
				}
				if history := got.Message.Attributes["postrider-redriven"]; times > 0 && history != fmt.Sprint(times) {
					t.Fatalf("redriven %d times, it says %v", times, history)
				}
				s.nack(subPath, got.AckID)
			}
			time.Sleep(time.Minute)
			s.none(subPath)
			if letters := s.do(lettersPath, `{}`).list("deadLetters"); len(letters) != 1 {
				t.Fatalf("dead letters: %v", letters)
			}
			redrive := "POST " + extensions + subPath + ":redriveDeadLetters"
			dry := s.do(redrive, `{"validateOnly": true}`).ok()
			if m := dry["metadata"].(fields); dry["name"] != nil || m["totalMessages"] != "1" {
				t.Fatalf("the dry run says %v", dry)
			}
			m, failure := s.ended(s.do(redrive, `{"messagesPerSecond": 10}`).ok())
			if m["movedMessages"] != "1" || m["kind"] != "REDRIVE" || m["endTime"] == nil || failure != nil {
				t.Fatalf("the operation ended as %v %v", m, failure)
			}
			s.do(lettersPath, `{}`).is(`{}`)
			for _, other := range []string{"p/subscriptions/first", "p/subscriptions/third", "p/subscriptions/graves"} {
				s.none(other)
			}
		}
	})
}

func TestPurgeDeadLetters(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.do("PUT p/subscriptions/graves", `{"topic": "projects/p/topics/dead"}`).ok()
		s.withSubscription("{" + withDeadLetters + "}")
		s.publish("a", "b")
		for range 5 {
			for _, got := range s.pull(subPath) {
				s.nack(subPath, got.AckID)
			}
		}
		time.Sleep(time.Minute)
		m, _ := s.ended(s.do("POST "+extensions+subPath+":purgeDeadLetters", `{"filter": {"text": "a"}}`).ok())
		if m["movedMessages"] != "1" || m["kind"] != "PURGE" || m["filter"].(fields)["text"] != "a" {
			t.Fatalf("the operation ended as %v", m)
		}
		gone := s.do("POST "+extensions+subPath+":purgeDeadLetters", `{"validateOnly": true, "filter": {"messageIds": ["7-11234"]}}`).ok()
		if m := gone["metadata"].(fields); m["totalMessages"] != nil || fmt.Sprint(m["notFoundMessageIds"]) != "[7-11234]" {
			t.Fatalf("of an id that is not there it says %v", m)
		}
		if left := s.do(graveyardPath, `{}`).list("deadLetters"); len(left) != 1 {
			t.Fatalf("left: %v", left)
		}
		if m, _ := s.ended(s.do("POST "+extensions+graveyard+":purgeDeadLetters", `{}`).ok()); m["movedMessages"] != "1" {
			t.Fatalf("the operation ended as %v", m)
		}
		s.do(graveyardPath, `{}`).is(`{}`)
		s.none("p/subscriptions/graves")
		s.none(subPath)
		if ops := s.do("GET " + extensions + "p/operations").list("operations"); len(ops) != 2 {
			t.Errorf("operations: %v", ops)
		}
	})
}

func TestCancelOperation(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.do("PUT p/subscriptions/graves", `{"topic": "projects/p/topics/dead"}`).ok()
		s.withSubscription("{" + withDeadLetters + "}")
		s.publish("a", "b", "c")
		for range 5 {
			for _, got := range s.pull(subPath) {
				s.nack(subPath, got.AckID)
			}
		}
		time.Sleep(time.Minute)
		op := s.do("POST "+extensions+graveyard+":redriveDeadLetters", `{"messagesPerSecond": 0.1}`).ok()
		time.Sleep(5 * time.Second)
		s.do("POST /postrider/v1/"+op["name"].(string)+":cancel", `{}`).ok()
		m, failure := s.ended(op)
		if m["movedMessages"] != "1" || failure["status"] != "CANCELLED" || m["cancelRequested"] != true {
			t.Fatalf("the operation ended as %v %v", m, failure)
		}
		s.do("GET "+extensions+"p/operations/none").fails(http.StatusNotFound, "NOT_FOUND")
		s.do("POST "+extensions+"p/operations/none:cancel", `{}`).fails(http.StatusNotFound, "NOT_FOUND")
		for _, verb := range []string{":redriveDeadLetters", ":purgeDeadLetters"} {
			s.do("POST "+extensions+"p/subscriptions/missing"+verb, `{"deadLetterSubscription": "x"}`).fails(http.StatusNotFound, "NOT_FOUND")
			s.do("POST "+extensions+"p/topics/missing"+verb, `{"deadLetterSubscription": "x"}`).fails(http.StatusNotFound, "NOT_FOUND")
			s.do("POST "+extensions+subPath+verb, `{"deadLetterSubscription": "x"}`).invalid("deadLetterSubscription")
		}
		s.do("POST "+extensions+subPath+":redriveDeadLetters", `{"messagesPerSecond": -1}`).invalid("messagesPerSecond")
		s.do("PUT p/subscriptions/more", `{"topic": "projects/p/topics/dead"}`).ok()
		s.do("POST "+extensions+subPath+":redriveDeadLetters", `{}`).invalid("deadLetterSubscription", "p/subscriptions/graves", "p/subscriptions/more")
	})
}

// A dead letter that died again tells both of its origins, and goes to the first one when that is asked for.
func TestRedriveToTheFirstOrigin(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.do("PUT p/topics/dead2", `{}`).ok()
		s.do("PUT p/subscriptions/graves", `{"topic": "projects/p/topics/dead", "deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead2"}}`).ok()
		s.withSubscription("{" + withDeadLetters + "}")
		id := s.publish("a")[0]
		for _, sub := range []string{subPath, "p/subscriptions/graves"} {
			for range 5 {
				s.nack(sub, s.one(sub).AckID)
			}
			time.Sleep(time.Minute)
		}
		d := s.do("POST "+extensions+"p/topics/dead2:deadLetters", `{}`).list("deadLetters")[0]
		last, first := d["origin"].(fields), d["firstOrigin"].(fields)
		if last["subscription"] != "projects/p/subscriptions/graves" || first["subscription"] != "projects/"+subPath || first["messageId"] != id {
			t.Fatalf("it comes from %v, and at first from %v", last, first)
		}
		m, _ := s.ended(s.do("POST "+extensions+"p/topics/dead2:redriveDeadLetters", `{"toFirstOrigin": true}`).ok())
		if m["movedMessages"] != "1" || m["toFirstOrigin"] != true {
			t.Fatalf("the operation ended as %v", m)
		}
		s.none("p/subscriptions/graves")
		if got := s.one(subPath); got.Message.MessageID != id || got.DeliveryAttempt != 1 {
			t.Fatalf("it comes back as %+v", got)
		}
	})
}
