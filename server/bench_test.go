package server_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// A message of a benchmark: 256 bytes and one attribute.
var benchMessage = fields{"data": []byte(strings.Repeat("x", 256)), "attributes": fields{"origin": "bench"}}

// BenchmarkPublish publishes 100 messages a request to a topic that keeps nothing, so that what is measured is the interface.
func BenchmarkPublish(b *testing.B) {
	s := newREST(b).withTopic()
	body := publishBody(100)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		s.request(topicPath+":publish", body)
	}
}

// BenchmarkPull pulls and acks 100 messages a request.
func BenchmarkPull(b *testing.B) {
	s := newREST(b).withSubscription("{}")
	body := publishBody(100)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s.request(topicPath+":publish", body)
		b.StartTimer()
		got := s.request(subPath+":pull", `{"maxMessages": 100}`)
		b.StopTimer()
		var ids []string
		for _, m := range (answer{b, "pull", got.Code, got.Header(), got.Body.String()}).pulled() {
			ids = append(ids, m.AckID)
		}
		if len(ids) != 100 {
			b.Fatalf("pulled %d messages", len(ids))
		}
		s.ack(subPath, ids...).ok()
		b.StartTimer()
	}
}

func publishBody(n int) string {
	messages := make([]fields, n)
	for i := range messages {
		messages[i] = benchMessage
	}
	return encode(fields{"messages": messages})
}

// request is do for what must be fast.
func (s rest) request(path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://localhost/v1/projects/"+path, strings.NewReader(body))
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != 200 {
		panic(fmt.Sprintf("%s: %d %s", path, w.Code, w.Body))
	}
	return w
}
