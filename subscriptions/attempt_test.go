package subscriptions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// deadTexts are what dead letters say of their attempts.
func deadTexts(letters []subscriptions.Received) (all []string) {
	for _, l := range letters {
		var parts []string
		for _, a := range l.Message.FailedAttempts() {
			parts = append(parts, fmt.Sprintf("%d after %s: %s", a.Number, a.Time.Sub(l.Message.PublishTime()).Round(time.Second), a.Line()))
		}
		all = append(all, strings.Join(parts, "; "))
	}
	return all
}

// A dead letter says why its attempts failed, whether it was refused, nobody
// answered, or somebody took it out of the way.
func TestDeadLettersTellOfTheirAttempts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "refused")
		for range subscriptions.DefaultMaxAttempts {
			w.nack("billing", w.pull("billing"))
			wait(time.Second)
		}
		wait(time.Minute)
		letters := w.pull("morgue")
		w.want(letters[0].Message.Attributes[subscriptions.ReasonAttribute], subscriptions.ReasonRefused)
		w.want(strings.Count(deadTexts(letters)[0], subscriptions.ReasonRefused), 5)
		w.ack("morgue", letters)

		w.publish("orders", "unanswered")
		for range subscriptions.DefaultMaxAttempts {
			w.want(w.pullTexts("billing"), "[unanswered]")
			wait(11 * time.Second)
		}
		wait(time.Minute)
		letters = w.pull("morgue")
		w.want(letters[0].Message.Attributes[subscriptions.ReasonAttribute], subscriptions.ReasonExpired)
		w.want(strings.HasPrefix(deadTexts(letters)[0], "5 after "), true)
		w.want(strings.Count(deadTexts(letters)[0], subscriptions.ReasonExpired), 5)
	})
}

// The attribute fits into a message that is published again, whatever the texts.
func TestTheAttributeOfAttemptsIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", `"`, "\\", "é", "<&>", "😀"} {
		failure := subscriptions.Failure{
			Reason: subscriptions.Reason(strings.Repeat(text, 500)), Answer: subscriptions.Answer(strings.Repeat(text, 500)), Status: 503, Took: time.Hour + 1,
		}
		var failed []subscriptions.Attempt
		for i := range 9 {
			failed = subscriptions.AddAttempt(subscriptions.Attempt{Number: i, Time: time.UnixMilli(1).UTC(), Failure: failure}, failed)
		}
		letter := subscriptions.WithAttempts(subscriptions.Delivery{Failed: failed}).Message
		value := letter.Attributes[subscriptions.AttemptsAttribute]
		if len(value) > subscriptions.MaxAttributeValue || len(letter.FailedAttempts()) == 0 || letter.FailedAttempts()[0] != failed[0] {
			t.Errorf("%q: %d bytes, %v, want %v: %s", text, len(value), letter.FailedAttempts(), failed, value)
		}
	}
}

func TestWhatIsNoListOfAttempts(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "x", "time=now", "time=2026-01-01T00:00:00Z reason=\"x", `reason="x"y`, `reason="x";`, `other="x"`, "attempt=x",
	} {
		m := subscriptions.Message{Attributes: map[string]string{subscriptions.AttemptsAttribute: value}}
		if got := m.FailedAttempts(); len(got) != 0 {
			t.Errorf("%q is read as %v", value, got)
		}
	}
}
