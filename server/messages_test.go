package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"postrider/server"
	"postrider/subscriptions"
)

func TestPublishAndPull(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	s.none(subPath)
	ids := s.do("POST "+topicPath+":publish", `{"messages": [
		{"data": "aGk/Pz4+", "attributes": {"k": "<&>\u2028é"}, "orderingKey": "key"},
		{"attributes": {"only": ""}, "orderingKey": "key"}]}`).ok()["messageIds"].([]any)

	answer := s.do("POST "+subPath+":pull", `{"maxMessages": 10}`)
	got := answer.pulled()
	if len(got) != 2 || got[0].Message.MessageID != ids[0] || got[1].Message.MessageID != ids[1] {
		t.Fatalf("published %v, pulled %s", ids, answer.body)
	}
	first := got[0].Message
	if string(first.Data) != "hi??>>" || first.Attributes["k"] != "<&>\u2028é" || first.OrderingKey != "key" {
		t.Errorf("got %+v", first)
	}
	if !regexp.MustCompile(`^20..-..-..T..:..:..(\....)?Z$`).MatchString(first.PublishTime) {
		t.Errorf("publish time %q", first.PublishTime)
	}
	for _, absent := range []string{"deliveryAttempt", `"data":""`, `"data":null`} {
		if strings.Contains(answer.body, absent) {
			t.Errorf("%s holds %s", answer.body, absent)
		}
	}
	if !strings.Contains(answer.body, `"<&>`) {
		t.Errorf("%s escapes what JSON need not", answer.body)
	}
	s.none(subPath)
	s.ack(subPath, got[0].AckID, got[1].AckID).is(`{}`)
	if got := s.stats("billing"); got.Acked != 2 || got.Outstanding != 0 || got.Undelivered != 0 {
		t.Errorf("after the acks: %+v", got)
	}
}

// What was published before a subscription was made is not for it.
func TestOnlyWhatComesLater(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	s.publish("early")
	s.subscribe("billing", "{}").ok()
	late := s.publish("late")
	if got := s.one(subPath).Message.MessageID; got != late[0] {
		t.Errorf("got %s, want %s", got, late[0])
	}
}

func TestPullAtMost(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	s.publish(numbered("%d", 7)...)
	for _, c := range []struct{ limit, want string }{{"3", "012"}, {`"2"`, "34"}, {"1e1", "56"}} {
		var got string
		for _, m := range s.do("POST "+subPath+":pull", `{"maxMessages": `+c.limit+`}`).pulled() {
			got += string(m.Message.Data)
		}
		if got != c.want {
			t.Errorf("maxMessages %s: got %s, want %s", c.limit, got, c.want)
		}
	}
}

// Deleting a subscription drops its backlog at once; another of its name starts anew, and old ack ids mean nothing to it.
func TestDeletedSubscription(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	s.publish("leased", "waiting")
	old := s.pull(subPath)[0].AckID
	s.do("DELETE " + subPath).is(`{}`)
	s.ack(subPath, old).fails(http.StatusNotFound, "NOT_FOUND")
	s.subscribe("billing", "{}").ok()
	s.none(subPath)
	s.ack(subPath, old).invalid("another subscription")
}

// patient is a backend that pulls for a caller only once that caller has gone.
type patient struct {
	server.Backend
	arrived chan struct{}
	left    chan error
}

func (p patient) Pull(ctx context.Context, name subscriptions.SubscriptionName, limit int, immediate bool) ([]subscriptions.Received, error) {
	p.arrived <- struct{}{}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	got, err := p.Backend.Pull(ctx, name, limit, immediate)
	p.left <- err
	return got, err
}

// A client that goes away during a pull costs no attempt: net/http ends the request's context, and what was leased since is
// released at once.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	s.do("PUT "+deadPath, "{}").ok()
	s.subscribe("billing", `{"deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead"}, "ackDeadlineSeconds": 600}`).ok()
	s.publish("message")

	backend := patient{s.service, make(chan struct{}, 1), make(chan error, 1)}
	over := httptest.NewServer(server.New(backend, server.Options{}))
	defer over.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", over.URL+"/v1/projects/"+subPath+":pull", strings.NewReader(`{"maxMessages": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-backend.arrived
		leave()
	}()
	if answer, err := over.Client().Do(r); err == nil {
		answer.Body.Close()
		t.Fatalf("got an answer: %s", answer.Status)
	}
	if err := <-backend.left; subscriptions.CodeOf(err) != subscriptions.Canceled {
		t.Fatalf("the pull ended with %v", err)
	}
	if got := s.one(subPath); got.DeliveryAttempt != 1 {
		t.Errorf("the next delivery is attempt %d", got.DeliveryAttempt)
	}
}
