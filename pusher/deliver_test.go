package pusher

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postrider/subscriptions"
)

// serve runs an endpoint on loopback.
func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s
}

func wantAnswer(t *testing.T, a answer, status int, want reason) {
	t.Helper()
	if got := classify(a); a.status != status || got != want {
		t.Errorf("status %d, error %v, reason %q; want status %d, reason %q", a.status, a.err, got, status, want)
	}
}

// Case 15 of the field, over the wire. What is below 200 is no last answer in HTTP.
func TestEveryStatusOverTheWire(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Query().Get("status"))
		w.WriteHeader(status)
	})
	transport := NewTransport(TransportOptions{})
	for status := 200; status <= 599; status++ {
		a := post(t, transport, s.URL+"/?status="+strconv.Itoa(status), 5*time.Second)
		wantAnswer(t, a, status, classify(answer{status: status}))
	}
}

func TestARequestIsAsDocumented(t *testing.T) {
	seen := make(chan *http.Request, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { seen <- r.Clone(context.Background()) })
	endpoint := strings.Replace(s.URL, "http://", "http://user:secret@", 1) + "/a%2Fb?token=x"
	wantAnswer(t, post(t, NewTransport(TransportOptions{}), endpoint, 5*time.Second), 200, accepted)
	r := <-seen
	if r.Method != "POST" || r.RequestURI != "/a%2Fb?token=x" || r.ContentLength != 2 {
		t.Errorf("%s %s of %d bytes", r.Method, r.RequestURI, r.ContentLength)
	}
	if user, password, _ := r.BasicAuth(); user != "user" || password != "secret" {
		t.Errorf("user %q and password %q", user, password)
	}
	r.Header.Del("Authorization")
	want := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"test"}, "Content-Length": {"2"}}
	for name, values := range r.Header {
		if len(want[name]) == 0 || values[0] != want[name][0] {
			t.Errorf("header %s: %v, want %v", name, values, want[name])
		}
	}
}

// Case 17 of the field.
func TestARedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Bool
	inside := serve(t, func(http.ResponseWriter, *http.Request) { followed.Store(true) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, status) })
		wantAnswer(t, post(t, NewTransport(TransportOptions{}), s.URL, 5*time.Second), status, redirected)
	}
	if followed.Load() {
		t.Error("a redirect to loopback was followed")
	}
}

func TestTLSWithAPrivateAuthority(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || r.ProtoMajor != 1 {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())

	trusting := NewTransport(TransportOptions{TLS: &tls.Config{RootCAs: roots}})
	wantAnswer(t, post(t, trusting, s.URL, 5*time.Second), 200, accepted)
	wantAnswer(t, post(t, NewTransport(TransportOptions{}), s.URL, 5*time.Second), 0, tlsFailed)
	elsewhere := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	wantAnswer(t, post(t, trusting, elsewhere, 5*time.Second), 0, tlsFailed)
}

func TestAServerThatWantsACertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	transport := NewTransport(TransportOptions{TLS: &tls.Config{RootCAs: roots}})
	wantAnswer(t, post(t, transport, s.URL, 5*time.Second), 0, tlsFailed)
}

func TestAnEndpointThatHangsIsGivenUpAtTheDeadline(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	start := time.Now()
	wantAnswer(t, post(t, NewTransport(TransportOptions{}), s.URL, 200*time.Millisecond), 0, timedOut)
	if took := time.Since(start); took < 200*time.Millisecond || took > 3*time.Second {
		t.Errorf("given up after %v", took)
	}
}

// Case 14 of the field, second half.
func TestHeadersThatDribbleAreGivenUpAtTheDeadline(t *testing.T) {
	url := serveRaw(t, func(conn net.Conn) {
		readRequest(conn)
		for _, b := range []byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("x", 1000)) {
			if _, err := conn.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	start := time.Now()
	wantAnswer(t, post(t, NewTransport(TransportOptions{}), url, 300*time.Millisecond), 0, timedOut)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("given up after %v", took)
	}
}

// Case 14 of the field, first half.
func TestAHugeBodyIsNotRead(t *testing.T) {
	var sent atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1<<30))
		for chunk := make([]byte, 1<<20); ; {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	wantAnswer(t, post(t, NewTransport(TransportOptions{}), s.URL, 5*time.Second), 200, accepted)
	s.Close()
	if n := sent.Load(); n > 32<<20 { // what fits in the buffers of two sockets
		t.Errorf("the endpoint could send %d bytes", n)
	}
}

func TestABodyThatDribblesDelaysNoOutcome(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	transport := NewTransport(TransportOptions{})
	defer transport.CloseIdleConnections()
	start := time.Now()
	var known time.Duration
	deliverWithin(t, transport, newTarget(s.URL, "test"), payload{}, start.Add(time.Minute), func(a answer) {
		known = time.Since(start)
		wantAnswer(t, a, 200, accepted)
	})
	if over := time.Since(start); known > discardTime/2 || over > 3*discardTime {
		t.Errorf("the outcome was known after %v and the exchange over after %v", known, over)
	}
}

// 102 acknowledges at once, and the endpoint is left to work.
func Test102IsAnAckAndDoesNotHangUp(t *testing.T) {
	finished := make(chan error, 1)
	acked := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusProcessing)
		<-acked
		time.Sleep(50 * time.Millisecond)
		finished <- r.Context().Err()
		w.WriteHeader(http.StatusInternalServerError)
	})
	transport := NewTransport(TransportOptions{})
	defer transport.CloseIdleConnections()
	deliverWithin(t, transport, newTarget(s.URL, "test"), payload{}, time.Now().Add(5*time.Second), func(a answer) {
		wantAnswer(t, a, 102, accepted)
		close(acked)
	})
	if err := <-finished; err != nil {
		t.Errorf("the endpoint was cut off: %v", err)
	}
}

func TestOtherInterimAnswersAreNone(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusBadGateway)
	})
	wantAnswer(t, post(t, NewTransport(TransportOptions{}), s.URL, 5*time.Second), 502, badStatus)
}

func TestSwitchingProtocolsEndsTheExchange(t *testing.T) {
	url := serveRaw(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		readRequest(conn) // until the other side closes
	})
	start := time.Now()
	wantAnswer(t, post(t, NewTransport(TransportOptions{}), url, 5*time.Second), 101, badStatus)
	if took := time.Since(start); took > time.Second {
		t.Errorf("the exchange took %v", took)
	}
}

// An endpoint that closes a kept connection just as it is used again has not
// refused anything.
func TestAClosedConnectionIsNoRefusal(t *testing.T) {
	connections := 0
	url := serveRaw(t, func(conn net.Conn) {
		connections++
		requests := bufio.NewReader(conn)
		if r, err := http.ReadRequest(requests); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
		if connections == 1 {
			_, _ = http.ReadRequest(requests) // and hang up
		}
	})
	transport := NewTransport(TransportOptions{})
	defer transport.CloseIdleConnections()
	for range 2 {
		deliverWithin(t, transport, newTarget(url, "test"), payload{body: []byte("{}")}, time.Now().Add(5*time.Second), func(a answer) {
			wantAnswer(t, a, 204, accepted)
		})
	}
}

// One that does so always has the message twice an attempt, however many
// connections to its host are kept.
func TestConnectionsThatCloseAreTriedTwice(t *testing.T) {
	const kept = 6
	var all sync.WaitGroup
	all.Add(kept)
	var tries atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			all.Done()
			all.Wait() // so that each has a connection of its own
			return
		}
		tries.Add(1)
		panic(http.ErrAbortHandler)
	})
	transport := NewTransport(TransportOptions{})
	defer transport.CloseIdleConnections()
	send := func(path string, status int, want reason) {
		deliverWithin(t, transport, newTarget(s.URL+path, "test"), payload{body: []byte("{}")}, time.Now().Add(5*time.Second), func(a answer) {
			wantAnswer(t, a, status, want)
		})
	}
	var posts sync.WaitGroup
	for range kept {
		posts.Go(func() { send("/good", 200, accepted) })
	}
	posts.Wait()
	send("/bad", 0, hungUp)
	if n := tries.Load(); n > 2 {
		t.Errorf("one attempt was POSTed %d times", n)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("an answer with a body ", 100))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	transport := NewTransport(TransportOptions{})
	defer transport.CloseIdleConnections()
	for range 50 {
		deliverWithin(t, transport, newTarget(s.URL, "test"), payload{body: []byte("{}")}, time.Now().Add(5*time.Second), func(a answer) {
			wantAnswer(t, a, 200, accepted)
		})
	}
	if n := opened.Load(); n > 2 {
		t.Errorf("%d connections for 50 pushes one after the other", n)
	}
}

// How the answer of a refusal begins is told, unless it does not come.
func TestARefusalTellsHowItsAnswerBegins(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		switch r.URL.Path {
		case "/text":
			_, _ = io.WriteString(w, " no database:\n"+strings.Repeat("x", 1<<20))
		case "/slow":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	transport := NewTransport(TransportOptions{})
	defer transport.CloseIdleConnections()
	for path, want := range map[string]string{
		"/text": "no database:\n" + strings.Repeat("x", subscriptions.MaxAnswer-len(" no database:\n")), "/slow": "", "/none": "",
	} {
		told := false
		deliverWithin(t, transport, newTarget(s.URL+path, "test"), payload{}, time.Now().Add(5*time.Second), func(a answer) {
			told = true
			wantAnswer(t, a, http.StatusBadGateway, badStatus)
			if a.text != want {
				t.Errorf("%s: the answer begins with %q, want %q", path, a.text, want)
			}
		})
		if !told {
			t.Errorf("%s: nothing was told", path)
		}
	}
}
