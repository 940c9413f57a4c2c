package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"postrider/subscriptions"
)

// otlpReceiver is what spans are sent to.
type otlpReceiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*spans.Span
}

func newOTLPReceiver(t *testing.T) *otlpReceiver {
	t.Helper()
	r := &otlpReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var export collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &export)
		}
		if err != nil || req.URL.Path != "/v1/traces" {
			t.Errorf("%s brought %v", req.URL, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, resource := range export.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// named are the spans of a name.
func (r *otlpReceiver) named(name string) (found []*spans.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	return found
}

func traceID(s *spans.Span) string { return hex.EncodeToString(s.GetTraceId()) }
func spanID(s *spans.Span) string  { return hex.EncodeToString(s.GetSpanId()) }

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
	callers      = "00-" + callersTrace + "-" + callersSpan + "-01"
)

// tracedApp has a topic with a push and a pull subscription. The endpoint refuses each message once.
type tracedApp struct {
	*testApp
	receiver *otlpReceiver
	mu       sync.Mutex
	pushed   []string // what pushes had as traceparent
}

var (
	tracedTopic = subscriptions.TopicName{Project: defaultProject, ID: "orders"}
	tracedPull  = subscriptions.SubscriptionName{Project: defaultProject, ID: "archive"}
)

func startTracedApp(t *testing.T, change func(*Config)) *tracedApp {
	t.Helper()
	a := &tracedApp{receiver: newOTLPReceiver(t)}
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pushed = append(a.pushed, r.Header.Get("traceparent"))
		if len(a.pushed) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(endpoint.Close)
	a.testApp = startApp(t, func(c *Config) {
		c.OTLPEndpoint, c.OTLPRatio = a.receiver.URL, 1
		if change != nil {
			change(c)
		}
	})
	ctx := t.Context()
	_, err := a.service.CreateTopic(ctx, subscriptions.Topic{Name: tracedTopic})
	a.must(t, err)
	_, err = a.service.CreateSubscription(ctx, subscriptions.Subscription{Name: tracedPull, Topic: tracedTopic})
	a.must(t, err)
	_, err = a.service.CreateSubscription(ctx, subscriptions.Subscription{
		Name: subscriptions.SubscriptionName{Project: defaultProject, ID: "billing"}, Topic: tracedTopic,
		Push: &subscriptions.PushConfig{Endpoint: endpoint.URL + "/?key=secret"},
	})
	a.must(t, err)
	return a
}

func (a *tracedApp) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post publishes over HTTP, in a caller's trace if there is a traceparent.
func (a *tracedApp) post(t *testing.T, traceparent, message string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/v1/"+tracedTopic.String()+":publish",
		strings.NewReader(`{"messages":[`+message+`]}`))
	a.must(t, err)
	r.Header.Set("Content-Type", "application/json")
	if traceparent != "" {
		r.Header.Set("traceparent", traceparent)
	}
	resp, err := http.DefaultClient.Do(r)
	a.must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d", resp.StatusCode)
	}
}

// pullOne takes and acks the message of the pull subscription.
func (a *tracedApp) pullOne(t *testing.T) subscriptions.Received {
	t.Helper()
	got, err := a.service.Pull(t.Context(), tracedPull, 1, false)
	a.must(t, err)
	a.must(t, a.service.Acknowledge(t.Context(), tracedPull, []string{got[0].AckID}))
	return got[0]
}

// pushes waits for so many.
func (a *tracedApp) pushes(t *testing.T, n int) []string {
	t.Helper()
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.pushed) != n {
			return fmt.Errorf("%d pushes", len(a.pushed))
		}
		return nil
	})
	return a.pushed
}

// A message's way is one trace, which begins with who published it and goes on in who gets it.
func TestTracing(t *testing.T) {
	t.Parallel()
	a := startTracedApp(t, nil)
	a.post(t, callers, `{"data":"aGk="}`)
	pulled := a.pullOne(t)
	pushed := a.pushes(t, 2)
	a.stop() // which sends the last spans
	want := map[string]int{
		"publish orders": 1, "lease archive": 1, "ack archive": 1,
		"lease billing": 2, "push billing": 2, "nack billing": 1, "ack billing": 1,
	}
	for name, n := range want {
		found := a.receiver.named(name)
		if len(found) != n {
			t.Errorf("%d spans are named %s, want %d", len(found), name, n)
		}
		for _, s := range found {
			if traceID(s) != callersTrace {
				t.Errorf("%s is in the trace %s", name, traceID(s))
			}
			if strings.Contains(s.String(), "secret") {
				t.Errorf("%s tells a secret: %s", name, s)
			}
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	publish := a.receiver.named("publish orders")[0]
	if parent := hex.EncodeToString(publish.GetParentSpanId()); parent != callersSpan {
		t.Errorf("the publish stands below %s", parent)
	}
	if carried := "00-" + callersTrace + "-" + spanID(publish) + "-01"; pulled.Message.Attributes["googclient_traceparent"] != carried {
		t.Errorf("the message carries %v, want %s", pulled.Message.Attributes, carried)
	}
	for _, s := range a.receiver.named("lease billing") {
		if hex.EncodeToString(s.GetParentSpanId()) != spanID(publish) {
			t.Error("a lease does not stand below the publish")
		}
	}
	for i, s := range a.receiver.named("push billing") {
		if sent := "00-" + callersTrace + "-" + spanID(s) + "-01"; pushed[i] != sent {
			t.Errorf("push %d had the traceparent %q, want %s", i, pushed[i], sent)
		}
		if failed := s.GetStatus().GetCode() == spans.Status_STATUS_CODE_ERROR; failed != (i == 0) {
			t.Errorf("push %d: %v", i, s.GetStatus())
		}
	}
}

// What a publisher that traces put into its message stays as it is, and its trace goes on.
func TestTracingOfClients(t *testing.T) {
	t.Parallel()
	a := startTracedApp(t, func(c *Config) { c.OTLPRatio = 0 })
	a.post(t, "", `{"data":"aGk=","attributes":{"googclient_traceparent":"`+callers+`"}}`)
	if got := a.pullOne(t).Message.Attributes["googclient_traceparent"]; got != callers {
		t.Errorf("the message carries %q", got)
	}
	for _, sent := range a.pushes(t, 2) {
		if !strings.HasPrefix(sent, "00-"+callersTrace+"-") {
			t.Errorf("a push had the traceparent %q", sent)
		}
	}
	a.stop()
	for _, name := range []string{"publish orders", "lease archive", "ack archive", "push billing"} {
		for _, s := range a.receiver.named(name) {
			if traceID(s) != callersTrace {
				t.Errorf("%s is in the trace %s", name, traceID(s))
			}
		}
		if len(a.receiver.named(name)) == 0 {
			t.Errorf("there is no span %s", name)
		}
	}
}

// A trace that is not recorded leaves nothing in messages and pushes, nor does a server without an endpoint for spans.
func TestNoTracing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"not recorded": func(c *Config) { c.OTLPRatio = 0 },
		"off":          func(c *Config) { c.OTLPEndpoint = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startTracedApp(t, change)
			a.post(t, "", `{"data":"aGk="}`)
			if got := a.pullOne(t).Message.Attributes; len(got) != 0 {
				t.Errorf("the message carries %v", got)
			}
			for _, sent := range a.pushes(t, 2) {
				if sent != "" {
					t.Errorf("a push had the traceparent %q", sent)
				}
			}
			a.stop()
			a.receiver.mu.Lock()
			defer a.receiver.mu.Unlock()
			if len(a.receiver.spans) > 0 {
				t.Errorf("there are %d spans", len(a.receiver.spans))
			}
		})
	}
}
