package pusher

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"postrider/subscriptions"
)

// deadLetters pulls from the topic of dead letters.
func (b *bubble) deadLetters(name subscriptions.SubscriptionName) []subscriptions.Received {
	b.Helper()
	got, err := b.service.Pull(b.Context(), name, 100, true)
	b.must(nil, err)
	return got
}

// Case 13 of the field: a terminal answer dead-letters after that attempt, by a
// status or a header, and keeps why; where it is not asked for it is a refusal.
func TestTerminalAnswers(t *testing.T) {
	for what, c := range map[string]struct {
		terminal subscriptions.TerminalAnswers
		pushes   int
	}{
		"off":              {pushes: 5},
		"a status":         {subscriptions.TerminalAnswers{Statuses: []int{410, 422}}, 1},
		"a header":         {subscriptions.TerminalAnswers{Header: "X-Final"}, 1},
		"another status":   {subscriptions.TerminalAnswers{Statuses: []int{410}}, 5},
		"another header":   {subscriptions.TerminalAnswers{Header: "X-Other"}, 5},
		"both, one of two": {subscriptions.TerminalAnswers{Statuses: []int{410}, Header: "X-Final"}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.web.answer(func(h hit) (int, error) {
					if h.message == "good" {
						return http.StatusOK, nil
					}
					h.answer.Set("X-Final", "true")
					return http.StatusUnprocessableEntity, nil
				})
				withDead := b.withDeadLetters()
				dead := b.subscribe("dead-sub", func(s *subscriptions.Subscription) {
					s.Topic = subscriptions.TopicName{Project: "p", ID: "dead"}
					s.Push = nil
				})
				sub := b.subscribe("sub", withDead, func(s *subscriptions.Subscription) { s.Terminal = c.terminal })
				b.publish("bad", "good")
				time.Sleep(2 * time.Minute)
				pushes := 0
				for _, h := range b.web.seen() {
					if h.message == "bad" {
						pushes++
					}
				}
				if pushes != c.pushes {
					b.Errorf("it was pushed %d times, want %d", pushes, c.pushes)
				}
				b.left(sub, 0)
				got := b.deadLetters(dead)
				if len(got) != 1 || string(got[0].Message.Data) != "bad" {
					b.Fatalf("dead letters: %+v", got)
				}
				failed := got[0].Message.FailedAttempts()
				reason := got[0].Message.Attributes[subscriptions.ReasonAttribute]
				if reason != "the endpoint answered 422 Unprocessable Entity" || len(failed) != c.pushes || failed[0].Number != c.pushes {
					b.Errorf("the reason is %q of the attempts %v", reason, failed)
				}
				if s := b.stats(sub); c.pushes == 1 && (s.DeadLettered != 1 || s.Nacked != 0) {
					b.Errorf("stats: %+v", s)
				}
			})
		})
	}
}

// While the dead-letter topic does not exist the message stays, and is tried again.
func TestATerminalAnswerWithoutATopicIsARefusal(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(hit) (int, error) { return http.StatusGone, nil })
		sub := b.subscribe("sub", b.withDeadLetters(), withRetry(10*time.Second, 10*time.Second), func(s *subscriptions.Subscription) {
			s.Terminal.Statuses = []int{http.StatusGone}
		})
		topic := subscriptions.TopicName{Project: "p", ID: "dead"}
		b.must(nil, b.service.DeleteTopic(b.Context(), topic))
		b.publish("m")
		time.Sleep(25 * time.Second)
		if n := len(b.web.seen()); n != 3 {
			b.Errorf("%d pushes, want 3", n)
		}
		b.left(sub, 1)
	})
}

// A terminal answer keeps what was known of the attempts before it.
func TestATerminalAnswerKeepsEarlierAttempts(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.attempt < 3 {
				return http.StatusServiceUnavailable, h.work(time.Second)
			}
			return http.StatusGone, nil
		})
		withDead := b.withDeadLetters()
		dead := b.subscribe("dead-sub", func(s *subscriptions.Subscription) {
			s.Topic = subscriptions.TopicName{Project: "p", ID: "dead"}
			s.Push = nil
		})
		b.subscribe("sub", withDead, func(s *subscriptions.Subscription) { s.Terminal.Statuses = []int{http.StatusGone} })
		b.publish("m")
		time.Sleep(time.Minute)
		var got []string
		for _, a := range b.deadLetters(dead)[0].Message.FailedAttempts() {
			got = append(got, fmt.Sprint(a.Number, a.Status, a.Took))
		}
		if want := []string{"3 410 0s", "2 503 1s", "1 503 1s"}; !slices.Equal(got, want) {
			b.Errorf("attempts: %v, want %v", got, want)
		}
	})
}
