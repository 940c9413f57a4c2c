package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// inBubble runs a test against a running server whose time is the bubble's.
func inBubble(t *testing.T, test func(*testing.T, rest)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newREST(t)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.service.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the service ended with %v", err)
			}
		})
		s.do("PUT "+deadPath, "{}").ok()
		test(t, s)
	})
}

const withDeadLetters = `"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead", "maxDeliveryAttempts": 5}`

// waited pulls and tells how long that took.
func (s rest) waited(sub string) (got []pulled, after time.Duration) {
	s.t.Helper()
	start := time.Now()
	got = s.do("POST "+sub+":pull", `{"maxMessages": 10}`).pulled()
	return got, time.Since(start)
}

func TestPullWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.withSubscription("{}")
		if got, after := s.waited(subPath); len(got) != 0 || after < 10*time.Second || after > 90*time.Second {
			t.Errorf("without messages a pull answered %v after %v", got, after)
		}
		published := make(chan error, 1)
		go func() {
			time.Sleep(3 * time.Second)
			_, err := s.service.Publish(t.Context(), subscriptions.TopicName{Project: "p", ID: "orders"}, []subscriptions.Message{{Data: []byte("hi")}})
			published <- err
		}()
		got, after := s.waited(subPath)
		if len(got) != 1 || after != 3*time.Second {
			t.Errorf("a message published after 3 s: got %v after %v", got, after)
		}
		if err := <-published; err != nil {
			t.Error(err)
		}
	})
}

func TestAckDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.withSubscription(`{"ackDeadlineSeconds": 20}`)
		s.publish("message")
		first := s.one(subPath)
		if got, after := s.waited(subPath); len(got) != 1 || after < 20*time.Second || after > 21*time.Second {
			t.Errorf("got %+v after %v, want it after the deadline of 20 s", got, after)
		}
		s.ack(subPath, first.AckID).is(`{}`) // a late ack acks
		time.Sleep(time.Minute)
		s.none(subPath)
	})
}

func TestModifyAckDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.withSubscription("{}")
		s.publish("message")
		modify := func(id string, body string) {
			s.do("POST "+subPath+":modifyAckDeadline", fmt.Sprintf(`{"ackIds": ["%s"]%s}`, id, body)).is(`{}`)
		}
		first := s.one(subPath)
		time.Sleep(9 * time.Second)
		modify(first.AckID, `, "ackDeadlineSeconds": 50`)
		if got, after := s.waited(subPath); len(got) != 0 {
			t.Fatalf("an extended lease ended after %v", after)
		}
		got, after := s.waited(subPath)
		if len(got) != 1 || after < 19*time.Second || after > 21*time.Second {
			t.Fatalf("got %+v after %v, want it 50 s after the extension", got, after)
		}
		modify(first.AckID, "") // no longer the current delivery
		s.none(subPath)
		modify(got[0].AckID, "") // absent is 0, which is a nack
		s.one(subPath)
	})
}

func TestRetryPolicy(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.withSubscription(`{"retryPolicy": {"minimumBackoff": "2s", "maximumBackoff": "8s"}}`)
		s.publish("message")
		s.nack(subPath, s.one(subPath).AckID)
		for _, bound := range []struct{ low, high time.Duration }{{2, 3}, {4, 6}, {5, 8}, {5, 8}} {
			got, after := s.waited(subPath)
			if len(got) != 1 || after < bound.low*time.Second || after > bound.high*time.Second+time.Millisecond {
				t.Fatalf("got %+v after %v, want it after %d to %d s", got, after, bound.low, bound.high)
			}
			s.nack(subPath, got[0].AckID)
		}
	})
}

// Case 5: attempts are counted with a dead-letter policy, and absent without.
func TestDeliveryAttempts(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.withSubscription("{" + withDeadLetters + "}")
		s.subscribe("plain", "{}").ok()
		s.publish("message")
		for attempt := 1; attempt <= 4; attempt++ {
			counted, plain := s.one(subPath), s.one("p/subscriptions/plain")
			if counted.DeliveryAttempt != attempt || plain.DeliveryAttempt != 0 {
				t.Fatalf("attempt %d: %d with a policy, %d without", attempt, counted.DeliveryAttempt, plain.DeliveryAttempt)
			}
			if attempt == 2 { // by a missed deadline as well as by a nack
				time.Sleep(11 * time.Second)
				continue
			}
			s.nack(subPath, counted.AckID)
			s.nack("p/subscriptions/plain", plain.AckID)
		}
	})
}

// Case 6: after the last attempt a message is in the dead-letter topic, once, and nowhere else.
func TestDeadLetter(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.do("PUT p/subscriptions/graves", `{"topic": "projects/p/topics/dead"}`).ok()
		s.withSubscription("{" + withDeadLetters + "}")
		ids := s.do("POST "+topicPath+":publish", `{"messages": [{"data": "aGk=", "attributes": {"k": "v"}}]}`).ok()["messageIds"].([]any)
		var published string
		for range 5 {
			got := s.one(subPath)
			published = got.Message.PublishTime
			s.nack(subPath, got.AckID)
		}
		got, _ := s.waited("p/subscriptions/graves")
		if len(got) != 1 {
			t.Fatalf("the dead-letter subscription has %+v", got)
		}
		want := fields{
			"k": "v",
			"CloudPubSubDeadLetterSourceDeliveryCount":       "5",
			"CloudPubSubDeadLetterSourceSubscription":        "billing",
			"CloudPubSubDeadLetterSourceSubscriptionProject": "p",
			"CloudPubSubDeadLetterSourceTopicPublishTime":    strings.Replace(published, "Z", "+00:00", 1),
			"postrider-dead-letter-reason":                   "refused by the subscriber",
			"postrider-dead-letter-message-id":               ids[0],
			"postrider-dead-letter-topic":                    "projects/" + topicPath,
			"postrider-dead-letter-topic-uid":                s.topicUID(topicPath),
		}
		m := got[0].Message
		want["postrider-dead-letter-attempts"] = m.Attributes["postrider-dead-letter-attempts"]
		if strings.Count(m.Attributes["postrider-dead-letter-attempts"], `reason="refused by the subscriber"`) != 5 {
			t.Errorf("the attempts are %v", m.Attributes)
		}
		if encode(m.Attributes) != encode(want) || string(m.Data) != "hi" || m.MessageID == ids[0] || got[0].DeliveryAttempt != 0 {
			t.Errorf("the dead letter is %+v", got[0])
		}
		s.ack("p/subscriptions/graves", got[0].AckID).is(`{}`)
		time.Sleep(time.Minute)
		s.none("p/subscriptions/graves")
		s.none(subPath)
		if got := s.stats("billing"); got.Undelivered+got.Outstanding != 0 || got.DeadLettered != 1 {
			t.Errorf("the source has %+v", got)
		}
	})
}

// topicUID is what the store calls a topic.
func (s rest) topicUID(path string) string {
	s.t.Helper()
	name, err := subscriptions.ParseTopicName("topic", "projects/"+path)
	if err != nil {
		s.t.Fatal(err)
	}
	topic, err := s.store.Topic(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return topic.UID
}

// A change takes effect at the next retry, an ack deadline at the next lease.
func TestChangeTakesEffect(t *testing.T) {
	inBubble(t, func(t *testing.T, s rest) {
		s.withSubscription(`{"retryPolicy": {"minimumBackoff": "100s", "maximumBackoff": "600s"}}`)
		s.publish("message")
		first := s.one(subPath)
		s.do("PATCH "+subPath, `{"subscription": {"retryPolicy": {"minimumBackoff": "1s", "maximumBackoff": "1s"}, "ackDeadlineSeconds": 100},
			"updateMask": "retryPolicy,ackDeadlineSeconds"}`).ok()
		s.nack(subPath, first.AckID)
		if got, after := s.waited(subPath); len(got) != 1 || after > 2*time.Second {
			t.Fatalf("got %+v after %v, want it after 1 s", got, after)
		}
		time.Sleep(90 * time.Second)
		s.none(subPath)
		if got, after := s.waited(subPath); len(got) != 1 || after < 10*time.Second || after > 12*time.Second {
			t.Fatalf("got %+v after %v, want it 100 s after its lease", got, after)
		}
	})
}
