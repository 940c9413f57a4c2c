package pusher

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"postrider/subscriptions"
)

func TestAMessageIsPushedOnceAndAcked(t *testing.T) {
	inBubble(t, func(b *bubble) {
		sub := b.subscribe("sub")
		published := time.Since(b.web.started)
		b.publish("hello")
		time.Sleep(time.Minute)
		hits := b.web.seen()
		if len(hits) != 1 || hits[0].message != "hello" || hits[0].url != testEndpoint {
			b.Fatalf("the endpoint saw %v", hits)
		}
		if late := hits[0].at - published; late > 10*time.Millisecond {
			b.Errorf("pushed %v after the publish", late)
		}
		b.left(sub, 0)
	})
}

func TestABacklogFromBeforeIsPushed(t *testing.T) {
	inBubble(t, func(b *bubble) {
		sub := b.subscribe("sub", func(s *subscriptions.Subscription) { s.Push = nil })
		for i := range 1000 {
			b.publish(fmt.Sprint(i))
		}
		b.must(nil, b.service.ModifyPushConfig(b.Context(), sub, &subscriptions.PushConfig{Endpoint: testEndpoint}, nil))
		time.Sleep(2 * time.Second)
		if n := len(b.web.seen()); n != 1000 {
			b.Errorf("%d pushes of 1,000 messages", n)
		}
		b.left(sub, 0)
	})
}

func TestARefusedMessageComesAgain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.attempt < 3 {
				return http.StatusInternalServerError, nil
			}
			return http.StatusNoContent, nil
		})
		b.must(b.service.CreateTopic(b.Context(), subscriptions.Topic{Name: subscriptions.TopicName{Project: "p", ID: "dead"}}))
		sub := b.subscribe("sub", func(s *subscriptions.Subscription) {
			s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: subscriptions.TopicName{Project: "p", ID: "dead"}}
		})
		b.publish("m")
		time.Sleep(time.Minute)
		hits := b.web.seen()
		if len(hits) != 3 {
			b.Fatalf("%d pushes, want 3", len(hits))
		}
		for i, h := range hits {
			if h.attempt != i+1 {
				b.Errorf("push %d carries attempt %d", i+1, h.attempt)
			}
		}
		b.left(sub, 0)
	})
}
