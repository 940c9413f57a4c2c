package grpcapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"postrider/server/grpcapi"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// What is no call of gRPC, or may come from a page, is not served as one; and no call begins after the stop.
func TestBesideTakesCallsAlone(t *testing.T) {
	t.Parallel()
	s := grpcapi.New(subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{}), grpcapi.Options{})
	h := s.Beside(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	ask := func(major int, header, value string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/google.pubsub.v1.Publisher/ListTopics", http.NoBody)
		r.ProtoMajor = major
		r.Header.Set("Content-Type", "application/grpc+proto")
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"HTTP/1":       ask(1, "Te", "trailers"),
		"JSON":         ask(2, "Content-Type", "application/json"),
		"a page":       ask(2, "Origin", "https://example.com"),
		"a page's own": ask(2, "Sec-Fetch-Site", "same-origin"),
	} {
		if w.Code != http.StatusTeapot {
			t.Errorf("%s: answered %d", name, w.Code)
		}
	}
	if w := ask(2, "Te", "trailers"); w.Code != http.StatusOK || w.Result().Header.Get("Content-Type") != "application/grpc+proto" {
		t.Errorf("a call: answered %d %v", w.Code, w.Result().Header)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := ask(2, "Te", "trailers"); w.Header().Get("Grpc-Status") != "14" {
		t.Errorf("after the stop: %d %v", w.Code, w.Header())
	}
}
