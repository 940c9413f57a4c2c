package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"postrider/server/api"
	"postrider/subscriptions"
)

// demoRetry and demoAttempts bring a message that is always refused to the dead letters within about five seconds.
var demoRetry = subscriptions.RetryPolicy{Minimum: 400 * time.Millisecond, Maximum: 2 * time.Second}

const demoAttempts = subscriptions.MinMaxAttempts

// refuses is the endpoint's mood: one order in twenty it never takes, one in five only at the third attempt.
func refuses(order, attempt int) bool {
	return order%20 == 3 || order%5 == 4 && attempt < 3
}

// events prints a line for everything that happens in the demonstration, and counts.
type events struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time

	published, accepted, refused, dead int
}

func newEvents(out io.Writer) *events { return &events{out: out, start: time.Now()} }

// line prints one. The caller holds the mutex.
func (e *events) line(what, format string, args ...any) {
	fmt.Fprintf(e.out, "%7.1fs  %-13s  %s\n", time.Since(e.start).Seconds(), what, fmt.Sprintf(format, args...))
}

func (e *events) introduce(server, place string) {
	fmt.Fprintf(e.out, `Postrider's demonstration. The server listens on %[1]s and keeps messages in %[2]s.

  topic %[3]s -> push subscription %[4]s -> an endpoint that refuses some orders, a few of them always
  what it refuses %[5]d times -> topic %[6]s -> pull subscription %[6]s

Meanwhile, in a browser: %[1]s/
or from another terminal:
  curl -X POST %[1]s/v1/projects/%[7]s/topics/%[3]s:publish -d '{"messages": [{"data": "aGVsbG8="}]}'
  curl %[1]s/v1/projects/%[7]s/subscriptions/%[4]s
  go run ./cmd/postrider publish %[3]s hello --server %[1]s

`, server, place, demoTopic, demoSubscription, demoAttempts, demoDead, defaultProject)
}

// publishing runs publish and prints the order. Pushes wait meanwhile: they can be quicker than the answer to the publisher,
// and would be printed first.
func (e *events) publishing(order int, publish func() (id string, err error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	id, err := publish()
	if err != nil {
		return err
	}
	e.published++
	e.line("published", "order %d as message %s", order, id)
	return nil
}

// answer is what the endpoint answers to a push.
func (e *events) answer(p push) int {
	order, what := orderOf(p.Message)
	e.mu.Lock()
	defer e.mu.Unlock()
	if order == 0 && p.DeliveryAttempt == 1 {
		e.published++ // by somebody else
	}
	if !refuses(order, p.DeliveryAttempt) {
		e.accepted++
		e.line("pushed", "%s, attempt %d -> 200, acked", what, p.DeliveryAttempt)
		return http.StatusOK
	}
	e.refused++
	next := "the last attempt"
	if p.DeliveryAttempt < demoAttempts {
		wait := demoRetry.Span(p.DeliveryAttempt)
		next = fmt.Sprintf("retry in %.1fs to %.1fs", wait.Low.Seconds(), wait.High.Seconds())
	}
	e.line("pushed", "%s, attempt %d -> 503, %s", what, p.DeliveryAttempt, next)
	return http.StatusServiceUnavailable
}

// deadLetter prints what was pulled from the dead letters and acknowledged.
func (e *events) deadLetter(m api.PubsubMessage) {
	_, what := orderOf(m)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead++
	e.line("dead-lettered", "%s, after %s attempts; pulled from %s and acked", what,
		m.Attributes["CloudPubSubDeadLetterSourceDeliveryCount"], demoDead)
}

// summary ends the demonstration.
func (e *events) summary() {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting := max(0, e.published-e.accepted-e.dead) // a duplicate would count twice
	fmt.Fprintf(e.out, "\nAfter %.0f s: %s published, %d acked by the endpoint, %d dead-lettered, %d waiting for a retry.\n",
		time.Since(e.start).Seconds(), count(e.published, "message"), e.accepted, e.dead, waiting)
	fmt.Fprintf(e.out, "The endpoint was pushed to %d times and refused %d of them.\n", e.accepted+e.refused, e.refused)
}

// order is the data of the demonstration's messages.
type order struct {
	Order int `json:"order"`
}

// orderOf is the number of an order, with words for it. What somebody else published has number 0.
func orderOf(m api.PubsubMessage) (int, string) {
	var o order
	if json.Unmarshal(m.Data, &o) != nil || o.Order < 1 {
		return 0, printable(payload(m.Data))
	}
	return o.Order, fmt.Sprintf("order %d", o.Order)
}
