package pusher

import (
	"fmt"
	"net/http"
	"sync"
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

// What is made anew under the name of another is another subscription.
func TestASubscriptionMadeAnewIsPushedToItsOwnEndpoint(t *testing.T) {
	inBubble(t, func(b *bubble) {
		name := b.subscribe("sub")
		const fresh = "http://fresh.example/"
		b.must(nil, b.service.DeleteSubscription(b.Context(), name))
		b.must(b.service.CreateSubscription(b.Context(), subscriptions.Subscription{
			Name: name, Topic: testTopic, Push: &subscriptions.PushConfig{Endpoint: fresh},
		}))
		for i := range 30 {
			b.publish(fmt.Sprint(i))
			time.Sleep(100 * time.Millisecond)
		}
		hits := b.web.seen()
		for _, h := range hits {
			if h.url != fresh {
				b.Errorf("%s", h)
			}
		}
		if len(hits) != 30 {
			b.Errorf("%d pushes, want 30", len(hits))
		}
		b.left(name, 0)
	})
}

// A lease that took as long as the ack deadline is of no use, and no attempt.
func TestALeaseThatCameTooLateIsReleased(t *testing.T) {
	inBubble(t, func(b *bubble) {
		name := b.subscribe("sub", b.withDeadLetters())
		var slow sync.Once
		b.store.setOnLease(func() {
			slow.Do(func() { time.Sleep(subscriptions.DefaultAckDeadline + time.Second) })
		})
		b.publish("m")
		time.Sleep(time.Minute)
		if hits := b.web.seen(); len(hits) != 1 || hits[0].attempt != 1 {
			b.Errorf("the endpoint saw %v, want one push with attempt 1", hits)
		}
		b.left(name, 0)
	})
}

// Big messages are pushed a few at a time, so that they fit in memory; a backlog
// is leased a good part of the window at a time.
func TestRoom(t *testing.T) {
	for _, c := range []struct {
		size, most, out, bytesOut int
		backlog                   bool
		want                      int
	}{
		{size: 10, want: 10},
		{size: 10, out: 9, want: 1},
		{size: 10, out: 10, want: 0},
		{size: 10, out: 40, want: 0},
		{size: 10, out: 1, bytesOut: maxBytesOut, want: 0},
		{size: 100, out: 76, backlog: true, want: 0},
		{size: 100, out: 75, backlog: true, want: 25},
		{size: 4, out: 3, backlog: true, want: 1},
		{size: 4, out: 0, backlog: true, want: 4},
		{size: 10, most: 3, out: 1, want: 2},
		{size: 10, most: 1, backlog: true, want: 1},
	} {
		flow := newFlow(subscriptions.PushLimits{MaxOutstanding: c.most})
		flow.window.size = c.size
		w := &worker{flow: flow, out: c.out, bytesOut: c.bytesOut, backlog: c.backlog}
		if got := w.room(); got != c.want {
			t.Errorf("%+v: room %d", c, got)
		}
	}
}

// What a filter does not select is never pushed, and nobody has to wake the worker for what lies behind it.
func TestOnlyWhatMatchesIsPushed(t *testing.T) {
	inBubble(t, func(b *bubble) {
		sub := b.subscribe("sub", func(s *subscriptions.Subscription) { s.Filter = "attributes:bright" })
		publish := func(text string, attributes map[string]string, n int) {
			msgs := make([]subscriptions.Message, n)
			for i := range msgs {
				msgs[i] = subscriptions.Message{Data: []byte(text), Attributes: attributes}
			}
			b.must(b.service.Publish(b.Context(), testTopic, msgs))
		}
		for range 5 {
			publish("dull", nil, 1000)
		}
		publish("bright", map[string]string{"bright": ""}, 3)
		publish("dull", nil, 500)
		time.Sleep(time.Second)
		hits := b.web.seen()
		for _, h := range hits {
			if h.message != "bright" {
				b.Errorf("%q was pushed", h.message)
			}
		}
		if len(hits) != 3 {
			b.Errorf("%d pushes, want 3", len(hits))
		}
		b.left(sub, 0)
	})
}
