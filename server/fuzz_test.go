package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"postrider/subscriptions"
)

// seeds are requests of every operation, good and bad: a method, a path below /v1/projects/ with its query, a body.
var seeds = [][3]string{
	{"PUT", "p/topics/new", `{"labels": {"a": "b"}}`},
	{"PUT", "p/topics/orders", `{}`},
	{"GET", "p/topics/orders", ``},
	{"PATCH", "p/topics/orders?updateMask=labels", `{"topic": {"labels": {"a": "b"}}}`},
	{"PATCH", "p/topics/orders", `{"topic": {"name": "x", "kmsKeyName": "k"}, "updateMask": "kms_key_name"}`},
	{"DELETE", "p/topics/orders", ``},
	{"GET", "p/topics?pageSize=1&pageToken=MTpvcmRlcnM", ``},
	{"GET", "p/topics/orders/subscriptions?pageSize=-1", ``},
	{"POST", "p/topics/orders:publish", `{"messages": [{"data": "aGk=", "attributes": {"k": "v"}, "orderingKey": "o"}]}`},
	{"POST", "p/topics/a%2Bb:publish", `{"messages": [{"data": "*"}]}`},
	{"PUT", "p/subscriptions/new", `{"topic": "projects/p/topics/orders", "pushConfig": {"pushEndpoint": "http://h/"}, "retryPolicy": {"minimumBackoff": "1.5s"}}`},
	{"PUT", "p/subscriptions/new", `{"topic": "projects/p/topics/orders", "filter": "x", "expirationPolicy": {"ttl": "0s"}, "deadLetterPolicy": {"deadLetterTopic": "x"}}`},
	{"GET", "p/subscriptions/billing", ``},
	{"PATCH", "p/subscriptions/billing", `{"subscription": {"ackDeadlineSeconds": 1e1, "messageRetentionDuration": "-1s"}, "updateMask": "ack_deadline_seconds,retryPolicy.minimumBackoff"}`},
	{"DELETE", "p/subscriptions/billing", ``},
	{"GET", "p/subscriptions?pageSize=0", ``},
	{"POST", "p/subscriptions/billing:pull", `{"maxMessages": 1, "returnImmediately": true}`},
	{"POST", "p/subscriptions/billing:acknowledge", `{"ackIds": ["AYqMcCxrRvkSp6QAvcaIvKI0gVQBAAl1EKHZ"]}`},
	{"POST", "p/subscriptions/billing:modifyAckDeadline", `{"ackIds": [""], "ackDeadlineSeconds": 601}`},
	{"POST", "p/subscriptions/billing:modifyPushConfig", `{"pushConfig": {"noWrapper": {}, "attributes": {"a": "b"}}}`},
	{"POST", "p/subscriptions/billing:detach", ``},
	{"POST", "p/subscriptions/billing:seek", `{}`},
	{"GET", "p/schemas/s@1", `null`},
	{"BREW", "../../healthz", `[`},
}

// FuzzRequest: no request gives an internal error, every refusal has the one shape, and what is refused has changed nothing.
func FuzzRequest(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		target, err := url.ParseRequestURI("/v1/projects/" + path)
		if err != nil || strings.ContainsAny(method, " \r\n") || method == "" {
			t.Skip("net/http refuses it")
		}
		s := newREST(t).withSubscription("{}")
		s.service.Drain() // no pull waits
		s.publish("message", "other")
		s.pull(subPath)
		before := s.state()

		r := httptest.NewRequest("GET", "http://localhost/", strings.NewReader(body))
		r.Method, r.URL, r.RequestURI = method, target, target.RequestURI()
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		answer := answer{t, method + " " + path, w.Code, w.Header(), w.Body.String()}
		if w.Code < 400 {
			return
		}
		if method != http.MethodHead {
			answer.failure()
		}
		if w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Errorf("%s %q: %d %s", answer.request, body, w.Code, answer.body)
		}
		if after := s.state(); !reflect.DeepEqual(after, before) {
			t.Errorf("%s %q was refused with %s\nand made of %+v\n%+v", answer.request, body, answer.body, before, after)
		}
	})
}

// state is all that a request could have changed.
type state struct {
	topics        []subscriptions.Topic
	subscriptions []subscriptions.Subscription
	stats         []subscriptions.Stats
}

func (s rest) state() state {
	s.t.Helper()
	ctx := context.Background()
	projects, err := s.store.Projects(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	var all state
	for _, p := range projects {
		topics, err := s.store.ListTopics(ctx, p, "", 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		subs, err := s.store.ListSubscriptions(ctx, p, "", 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		all.topics = append(all.topics, topics...)
		all.subscriptions = append(all.subscriptions, subs...)
		for _, sub := range subs {
			stats, err := s.store.Stats(ctx, sub.Ref())
			if err != nil {
				s.t.Fatal(err)
			}
			stats.OldestAge = 0 // rises by itself
			all.stats = append(all.stats, stats)
		}
	}
	return all
}
