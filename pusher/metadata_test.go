package pusher

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postrider/subscriptions"
)

func unwrapped(writeMetadata bool) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) {
		s.Push.Wrapper, s.Push.WriteMetadata = subscriptions.NoWrapper, writeMetadata
	}
}

// What goes over the wire, to the letter.
func TestUnwrappedPushes(t *testing.T) {
	id := subscriptions.MessageID{Milli: 1614366829749, Seq: 123450042}
	full := subscriptions.Message{
		ID: id, Data: []byte("{\"status\": \"Hello there\"}"), OrderingKey: "some-key",
		Attributes: map[string]string{"Content-Type": "application/json", "origin": "test", "Origin2": "é", "empty": ""},
	}
	for name, c := range map[string]struct {
		message       subscriptions.Message
		letters       *subscriptions.DeadLetterPolicy
		writeMetadata bool
	}{
		"bare":       {message: full},
		"metadata":   {message: full, writeMetadata: true},
		"attempt":    {message: subscriptions.Message{ID: id, Data: []byte{0, 0xff}}, writeMetadata: true, letters: &subscriptions.DeadLetterPolicy{MaxAttempts: 5}},
		"no-data":    {message: subscriptions.Message{ID: id, Attributes: map[string]string{"k": "v"}}, writeMetadata: true},
		"same-names": {message: subscriptions.Message{ID: id, Attributes: map[string]string{"key": "1", "Key": "2", "KEY": "3"}}, writeMetadata: true},
		"bad-key":    {message: subscriptions.Message{ID: id, Data: []byte("x"), OrderingKey: "a\r\nHost: b"}, writeMetadata: true},
	} {
		t.Run(name, func(t *testing.T) {
			sub := subscriptions.Subscription{
				Name: subscriptions.SubscriptionName{Project: "my-project", ID: "my-sub"}, DeadLetter: c.letters,
				Push: &subscriptions.PushConfig{},
			}
			unwrapped(c.writeMetadata)(&sub)
			p := payloadOf(&sub, &subscriptions.Delivery{Message: c.message, Attempt: 3})
			var wire bytes.Buffer
			request := newTarget("https://user:secret@endpoint.example/path", "Postrider/test").request(t.Context(), p)
			if err := request.Write(&wire); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "unwrapped-"+name+".http")
			if *update {
				if err := os.WriteFile(file, wire.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(wire.Bytes(), want) {
				t.Errorf("%s differs:\n%s", file, wire.Bytes())
			}
		})
	}
}

// An attribute that is no header, or would be a lie in one, is left out; all
// others are there.
func TestSafeHeaders(t *testing.T) {
	for _, name := range []string{
		"", "a b", "a:b", "a\r\nHost", "a\n", "é", "\x00", "a(b)", `"a"`, "a,b", "a/b", "a@b", "{a}",
		"Host", "host", "HOST", "Content-Length", "content_length", "Transfer-Encoding", "TRANSFER_encoding", "Connection",
		"Keep-Alive", "TE", "Trailer", "Upgrade", "Expect", "Via", "Date", "Cookie", "Set-Cookie", "Origin", "Referer",
		"Authorization", "authorization", "Proxy-Authorization", "Proxy_Authorization", "Proxy-Connection", "User-Agent",
		"Forwarded", "X-Forwarded-For", "X_Forwarded_For", "x-forwarded-host", "X-Real-IP", "True-Client-IP",
		"X-Goog-Pubsub-Message-Id", "x-goog-pubsub-subscription-name", "x_goog_pubsub_message_id",
		"X-Goog-Authenticated-User-Email", "Webhook-Id", "webhook-signature", "Signature", "Sec-Fetch-Site",
		"X-HTTP-Method-Override", "X-Original-URL", "Accept-Encoding", "postrider-x",
	} {
		if safeHeader(name) {
			t.Errorf("%q may be a header", name)
		}
	}
	for _, name := range []string{
		"a", "Content-Type", "Content-Encoding", "content-language", "googclient_traceparent", "traceparent", "Accept",
		"X-Request-Id", "X-Api-Key", "Idempotency-Key", "X-Idempotency-Key", "ce-id", "a.b", "1", "hosts", "goodbye", "security",
		"CloudPubSubDeadLetterSourceSubscription", strings.Repeat("k", subscriptions.MaxAttributeKey),
	} {
		if !safeHeader(name) {
			t.Errorf("%q may not be a header", name)
		}
	}
}

// Over the wire, a message cannot say anything but what it may, whatever is in it.
func FuzzUnwrapped(f *testing.F) {
	f.Add("name", "value", "key", []byte("data"))
	f.Add("content_length", "5", "a\nb", []byte{})
	f.Add("X-A\r\nHost: evil", "\r\n\r\nGET / HTTP/1.1", "\x7f", []byte("x"))
	f.Add("Transfer-Encoding", "chunked", "", []byte("0\r\n\r\n"))
	target := newTarget("http://endpoint.example/", "agent")
	f.Fuzz(func(t *testing.T, name, value, key string, data []byte) {
		sub := subscriptions.Subscription{Push: &subscriptions.PushConfig{}}
		unwrapped(true)(&sub)
		m := subscriptions.Message{Data: data, OrderingKey: key, Attributes: map[string]string{name: value}}
		var wire bytes.Buffer
		request := target.request(context.Background(), payloadOf(&sub, &subscriptions.Delivery{Message: m}))
		if err := request.Write(&wire); err != nil {
			t.Fatal(err)
		}
		got := readOneRequest(t, &wire)
		body, err := io.ReadAll(got.Body)
		if err != nil || !bytes.Equal(body, data) || got.Host != "endpoint.example" || got.ContentLength != int64(len(data)) {
			t.Errorf("%q to %q (%v)", body, got.Host, err)
		}
		if got.UserAgent() != "agent" || got.Header.Get("Authorization") != "" || got.Header.Get("X-Goog-Pubsub-Message-Id") != m.ID.String() {
			t.Errorf("header %v", got.Header)
		}
		if n := len(got.Header); n > 7 {
			t.Errorf("%d headers: %v", n, got.Header)
		}
	})
}

// A kept connection that the endpoint closes just then is no refusal of a message
// without data either, and it is sent twice at most.
func TestNoDataOverAClosedConnection(t *testing.T) {
	var tries atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	})
	transport := NewTransport(TransportOptions{})
	defer transport.CloseIdleConnections()
	send := func(status int, want reason) {
		p := payload{header: http.Header{"A": {"b"}}}
		deliverWithin(t, transport, newTarget(s.URL, "test"), p, time.Now().Add(5*time.Second), func(a answer) {
			wantAnswer(t, a, status, want)
		})
	}
	send(200, accepted)
	send(0, hungUp)
	if n := tries.Load(); n != 3 {
		t.Errorf("%d requests, want one and then two", n)
	}
}

// End to end, and a change takes effect with the next push.
func TestUnwrappedEndToEnd(t *testing.T) {
	t.Parallel()
	l := goLive(t)
	came := make(chan *http.Request, 10)
	bodies := make(chan string, 10)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- r.Clone(context.Background())
		bodies <- string(body)
		w.WriteHeader(http.StatusNoContent)
	})
	l.url = s.URL
	name := l.subscribe(unwrapped(true))
	publish := func() *http.Request {
		m := subscriptions.Message{Data: []byte("plain"), Attributes: map[string]string{"Content-Type": "text/plain", "Host": "evil"}}
		if _, err := l.service.Publish(t.Context(), testTopic, []subscriptions.Message{m}); err != nil {
			t.Fatal(err)
		}
		return <-came
	}
	r := publish()
	if body := <-bodies; body != "plain" || r.Header.Get("Content-Type") != "text/plain" || r.Host == "evil" ||
		r.Header.Get("X-Goog-Pubsub-Subscription-Name") != name.String() {
		t.Errorf("%q with %v", body, r.Header)
	}
	push := &subscriptions.PushConfig{Endpoint: s.URL, Wrapper: subscriptions.PubsubWrapper}
	if err := l.service.ModifyPushConfig(t.Context(), name, push, nil); err != nil {
		t.Fatal(err)
	}
	r = publish()
	if body := <-bodies; !strings.Contains(body, `"data":"cGxhaW4="`) || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("wrapped again: %q with %v", body, r.Header)
	}
}
