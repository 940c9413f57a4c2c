package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// rest speaks to a server on a store of its own.
type rest struct {
	t       testing.TB
	handler http.Handler
	service *subscriptions.Service
	store   *memory.Store
}

func newREST(t testing.TB) rest {
	store := memory.New(memory.Options{})
	service := subscriptions.NewService(store, subscriptions.Options{})
	return rest{t, server.New(service, server.Options{}), service, store}
}

// do sends a request, which is "METHOD path" below /v1/projects/, or below / if the path starts with one, with or without a body.
func (s rest) do(request string, body ...string) answer {
	s.t.Helper()
	return s.doWith("", request, body...)
}

// doWith is do with one more header, "Name: value".
func (s rest) doWith(header, request string, body ...string) answer {
	s.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	if !strings.HasPrefix(path, "/") {
		path = "/v1/projects/" + path
	}
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(strings.Join(body, "")))
	switch name, value, _ := strings.Cut(header, ": "); name {
	case "":
	case "Host":
		r.Host = value
	default:
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return answer{s.t, request, w.Code, w.Header(), w.Body.String()}
}

// answer is what came back.
type answer struct {
	t       testing.TB
	request string
	status  int
	header  http.Header
	body    string
}

// ok fails the test unless the request succeeded, and returns the body.
func (a answer) ok() fields {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("%s: %d %s", a.request, a.status, a.body)
	}
	return a.fields()
}

// is compares the body of a success with what is expected, as JSON.
func (a answer) is(want string) {
	a.t.Helper()
	got := a.ok()
	if w := parsed(a.t, want); !reflect.DeepEqual(got, w) {
		a.t.Fatalf("%s:\ngot  %s\nwant %s", a.request, a.body, want)
	}
}

// fails checks status, code, and that the message has all of the words.
func (a answer) fails(status int, code string, words ...string) {
	a.t.Helper()
	told := a.failure()
	if a.status != status || told["status"] != code {
		a.t.Fatalf("%s: got %d %s, want %d %s", a.request, a.status, a.body, status, code)
	}
	for _, word := range words {
		if !strings.Contains(told["message"].(string), word) {
			a.t.Fatalf("%s: the message lacks %q: %s", a.request, word, told["message"])
		}
	}
}

// invalid is fails with INVALID_ARGUMENT.
func (a answer) invalid(words ...string) {
	a.t.Helper()
	a.fails(http.StatusBadRequest, "INVALID_ARGUMENT", words...)
}

// failure checks that the body has Google's shape of an error, and returns what is in it.
func (a answer) failure() fields {
	a.t.Helper()
	told, _ := a.fields()["error"].(map[string]any)
	message, _ := told["message"].(string)
	code, _ := told["status"].(string)
	if told["code"] != float64(a.status) || message == "" || code == "" || a.status < 400 {
		a.t.Fatalf("%s: %d %s is not an error in Google's shape", a.request, a.status, a.body)
	}
	return told
}

func (a answer) fields() fields {
	a.t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/json" {
		a.t.Fatalf("%s: %d has the content type %q: %s", a.request, a.status, got, a.body)
	}
	return parsed(a.t, a.body)
}

// fields are a JSON object.
type fields = map[string]any

func parsed(t testing.TB, text string) fields {
	t.Helper()
	var f fields
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return f
}

// encode writes a body.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Names that most tests use.
const (
	topicPath = "p/topics/orders"
	subPath   = "p/subscriptions/billing"
	deadPath  = "p/topics/dead"
)

// withTopic makes a topic, and withSubscription a topic and a subscription with these settings.
func (s rest) withTopic() rest {
	s.t.Helper()
	s.do("PUT "+topicPath, "{}").ok()
	return s
}

func (s rest) withSubscription(settings string) rest {
	s.t.Helper()
	s.withTopic().subscribe("billing", settings).ok()
	return s
}

// subscribe creates a subscription to the topic.
func (s rest) subscribe(id, settings string) answer {
	s.t.Helper()
	body := parsed(s.t, settings)
	if _, ok := body["topic"]; !ok {
		body["topic"] = "projects/" + topicPath
	}
	return s.do("PUT p/subscriptions/"+id, encode(body))
}

// publish publishes messages of these data and returns their ids.
func (s rest) publish(data ...string) []string {
	s.t.Helper()
	return s.publishTo(topicPath, data...)
}

func (s rest) publishTo(topic string, data ...string) []string {
	s.t.Helper()
	var messages []fields
	for _, d := range data {
		messages = append(messages, fields{"data": []byte(d)})
	}
	answer := s.do("POST "+topic+":publish", encode(fields{"messages": messages})).ok()
	var ids []string
	for _, id := range answer["messageIds"].([]any) {
		ids = append(ids, id.(string))
	}
	return ids
}

// pulled is a message as pull hands it out.
type pulled struct {
	AckID           string
	DeliveryAttempt int
	Message         struct {
		Data                                []byte
		Attributes                          map[string]string
		MessageID, PublishTime, OrderingKey string
	}
}

// pull pulls at once.
func (s rest) pull(sub string) []pulled {
	s.t.Helper()
	return s.do("POST "+sub+":pull", `{"maxMessages": 1000, "returnImmediately": true}`).pulled()
}

func (a answer) pulled() []pulled {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("%s: %d %s", a.request, a.status, a.body)
	}
	var got struct{ ReceivedMessages []pulled }
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		a.t.Fatalf("%s: %v", a.request, err)
	}
	return got.ReceivedMessages
}

// one returns the only message of a pull.
func (s rest) one(sub string) pulled {
	s.t.Helper()
	got := s.pull(sub)
	if len(got) != 1 {
		s.t.Fatalf("pulled %d messages, want 1: %+v", len(got), got)
	}
	return got[0]
}

// none checks that there is nothing to pull.
func (s rest) none(sub string) {
	s.t.Helper()
	if got := s.pull(sub); len(got) != 0 {
		s.t.Fatalf("pulled %+v, want nothing", got)
	}
}

func (s rest) ack(sub string, ids ...string) answer {
	s.t.Helper()
	return s.do("POST "+sub+":acknowledge", encode(fields{"ackIds": ids}))
}

func (s rest) nack(sub string, ids ...string) {
	s.t.Helper()
	s.do("POST "+sub+":modifyAckDeadline", encode(fields{"ackIds": ids})).ok()
}

// stats reads the counters of a subscription.
func (s rest) stats(id string) subscriptions.Stats {
	s.t.Helper()
	sub, err := s.service.GetSubscription(context.Background(), subscriptions.SubscriptionName{Project: "p", ID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	stats, err := s.store.Stats(context.Background(), sub.Ref())
	if err != nil {
		s.t.Fatal(err)
	}
	return stats
}

// numbered makes n strings.
func numbered(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}
