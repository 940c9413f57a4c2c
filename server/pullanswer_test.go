package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

// closed is a connection that its client has closed.
type closed struct{ http.ResponseWriter }

func (closed) Write([]byte) (int, error) { return 0, errors.New("connection reset") }

// unflushed takes an answer into its buffer and cannot send it.
type unflushed struct{ http.ResponseWriter }

func (unflushed) FlushError() error { return errors.New("connection reset") }

func TestAnAnswerThatCannotBeWrittenSpendsNoAttempt(t *testing.T) {
	for name, broken := range map[string]http.ResponseWriter{
		"no write": closed{httptest.NewRecorder()},
		"no flush": unflushed{httptest.NewRecorder()},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := New(subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{}), Options{})
			send := func(w http.ResponseWriter, method, path, body string) {
				r := httptest.NewRequest(method, "http://localhost/v1/projects/p"+path, strings.NewReader(body))
				h.ServeHTTP(w, r)
			}
			ok := httptest.NewRecorder()
			send(ok, "PUT", "/topics/dead", `{}`)
			send(ok, "PUT", "/topics/orders", `{}`)
			send(ok, "PUT", "/subscriptions/billing", `{"topic": "projects/p/topics/orders", "deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/dead"}}`)
			send(ok, "POST", "/topics/orders:publish", `{"messages": [{"data": "YQ=="}]}`)
			send(broken, "POST", "/subscriptions/billing:pull", `{"maxMessages": 10}`)
			got := httptest.NewRecorder()
			send(got, "POST", "/subscriptions/billing:pull", `{"maxMessages": 10}`)
			if !strings.Contains(got.Body.String(), `"deliveryAttempt":1,`) {
				t.Errorf("%s: %s", name, got.Body)
			}
		})
	}
}
