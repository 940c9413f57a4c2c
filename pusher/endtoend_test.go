package pusher

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

// live is a server that pushes to a real endpoint on loopback, in real time.
type live struct {
	*testing.T
	service *subscriptions.Service
	url     string
	began   time.Time
	came    chan arrival

	mu      sync.Mutex
	respond http.HandlerFunc
}

// arrival is a message at the endpoint.
type arrival struct {
	at   time.Duration
	data string
}

func goLive(t *testing.T) *live {
	l := &live{
		T: t, service: subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{}),
		began: time.Now(), came: make(chan arrival, 1000),
	}
	l.respond = func(http.ResponseWriter, *http.Request) {}
	l.url = serve(t, l.receive).URL
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = l.service.Run(ctx) })
	running.Go(func() { _ = New(l.service, Options{}).Run(ctx, ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	if _, err := l.service.CreateTopic(t.Context(), subscriptions.Topic{Name: testTopic}); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *live) receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e struct {
		Message struct {
			Data []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		l.Errorf("the endpoint got %q: %v", body, err)
	}
	l.mu.Lock()
	respond := l.respond
	l.mu.Unlock()
	// Whoever hears of this message may already change what the next one gets.
	l.came <- arrival{time.Since(l.began), string(e.Message.Data)}
	respond(w, r)
}

func (l *live) endpointAnswers(h http.HandlerFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.respond = h
}

func (l *live) subscribe(change ...func(*subscriptions.Subscription)) subscriptions.SubscriptionName {
	l.Helper()
	sub := subscriptions.Subscription{
		Name: subscriptions.SubscriptionName{Project: "p", ID: "sub"}, Topic: testTopic,
		Push: &subscriptions.PushConfig{Endpoint: l.url},
	}
	for _, c := range change {
		c(&sub)
	}
	if _, err := l.service.CreateSubscription(l.Context(), sub); err != nil {
		l.Fatal(err)
	}
	return sub.Name
}

// publish returns when it did.
func (l *live) publish(data string) (at time.Duration) {
	l.Helper()
	at = time.Since(l.began)
	if _, err := l.service.Publish(l.Context(), testTopic, []subscriptions.Message{{Data: []byte(data)}}); err != nil {
		l.Fatal(err)
	}
	return at
}

// expect fails unless the message is the next to come, between two times after at.
func (l *live) expect(data string, at, low, high time.Duration) (came time.Duration) {
	l.Helper()
	select {
	case a := <-l.came:
		if after := a.at - at; a.data != data || after < low || after > high {
			l.Errorf("%q came after %v, want %q between %v and %v", a.data, after, data, low, high)
		}
		return a.at
	case <-time.After(high + 5*time.Second):
		l.Fatalf("%q did not come", data)
		return 0
	}
}

func (l *live) expectNothing(d time.Duration) {
	l.Helper()
	select {
	case a := <-l.came:
		l.Errorf("%q came although nothing should", a.data)
	case <-time.After(d):
	}
}

func TestEndToEnd(t *testing.T) {
	t.Parallel()
	l := goLive(t)
	l.subscribe()

	at := l.publish("first") // the new subscription gets its worker within two beats
	l.expect("first", at, 0, 2500*time.Millisecond)

	at = l.publish("second")
	l.expect("second", at, 0, time.Second)
	l.expectNothing(500 * time.Millisecond)
}

func TestEndToEndRetry(t *testing.T) {
	t.Parallel()
	l := goLive(t)
	l.subscribe(withRetry(time.Second, 2*time.Second))
	l.endpointAnswers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })

	at := l.publish("m")
	first := l.expect("m", at, 0, 2500*time.Millisecond)
	second := l.expect("m", first, time.Second, 2*time.Second)
	l.endpointAnswers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	l.expect("m", second, 1300*time.Millisecond, 2500*time.Millisecond)
	l.expectNothing(3 * time.Second)
}

func TestEndToEndReset(t *testing.T) {
	t.Parallel()
	l := goLive(t)
	l.subscribe()
	l.endpointAnswers(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			l.Error(err)
			return
		}
		reset(conn)
	})

	at := l.publish("m")
	first := l.expect("m", at, 0, 2500*time.Millisecond)
	l.endpointAnswers(func(http.ResponseWriter, *http.Request) {})
	l.expect("m", first, minPushBackoff, time.Second)
	l.expectNothing(500 * time.Millisecond)
}

func TestEndToEndDelete(t *testing.T) {
	t.Parallel()
	l := goLive(t)
	sub := l.subscribe()
	l.endpointAnswers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })

	at := l.publish("m")
	l.expect("m", at, 0, 2500*time.Millisecond)
	if err := l.service.DeleteSubscription(l.Context(), sub); err != nil {
		t.Fatal(err)
	}
	for len(l.came) > 0 { // what came before the deletion
		<-l.came
	}
	l.expectNothing(2 * time.Second)
}
