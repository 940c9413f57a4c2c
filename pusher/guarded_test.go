package pusher

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postrider/pusher/guard"
	"postrider/pusher/proof/prooftest"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// hosts resolves names without asking anybody; the last answer stays.
type hosts struct {
	mu      sync.Mutex
	answers map[string][]string
}

func (h *hosts) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answers := h.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		h.answers[host] = answers[1:]
	}
	return []netip.Addr{netip.MustParseAddr(answers[0])}, nil
}

// internet dials endpoints on loopback in place of the public addresses that they
// pretend to have.
type internet struct {
	*testing.T
	endpoints map[string]string // by address and port
	dialed    atomic.Int64
	read      atomic.Int64 // bytes from all of them
}

func (i *internet) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	i.dialed.Add(1)
	endpoint, ok := i.endpoints[address]
	if !ok {
		i.Errorf("dialled %s", address)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, endpoint)
	return counted{conn, &i.read}, err
}

type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

func newGuard(t *testing.T, o guard.Options) *guard.Guard {
	t.Helper()
	g, err := guard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// serveTLS runs an endpoint of a host name, with a certificate of the authority,
// and returns where it listens.
func serveTLS(t *testing.T, a *prooftest.Authority, host string, handle http.HandlerFunc) (address string) {
	t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(host))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handle)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

const publicAddress = "93.184.215.14"

// End to end with TLS: an endpoint with a certificate of a private authority is
// pushed to; one that redirects to loopback, one whose certificate is not good and
// one that moves inside are nacked, with the reason in the log, and nothing else
// is dialled. (Cases 12, 16 and 17 of the field.)
func TestEndToEndWithTLSAndAGuard(t *testing.T) {
	t.Parallel()
	ours, theirs := prooftest.NewAuthority(t), prooftest.NewAuthority(t)
	var inside atomic.Int64
	internal := serve(t, func(http.ResponseWriter, *http.Request) { inside.Add(1) })
	good := make(chan string, 100)
	receive := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		good <- r.Host
		w.WriteHeader(http.StatusNoContent)
	}
	redirecting := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, internal.URL, http.StatusFound) }
	names := &hosts{answers: map[string][]string{
		"good.example.com": {publicAddress}, "redirect.example.com": {publicAddress}, "bad.example.com": {publicAddress},
		"moves.example.com": {publicAddress, "169.254.169.254"},
	}}
	net := &internet{T: t, endpoints: map[string]string{
		publicAddress + ":443":  serveTLS(t, ours, "good.example.com", receive),
		publicAddress + ":8443": serveTLS(t, ours, "redirect.example.com", redirecting),
		publicAddress + ":9443": serveTLS(t, theirs, "bad.example.com", receive),
	}}
	g := newGuard(t, guard.Options{Resolver: names, Dialer: net})
	log := &lines{}
	service := subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{Endpoints: g})
	manager := New(service, Options{
		Transport: NewTransport(TransportOptions{TLS: &tls.Config{RootCAs: ours.Pool}, Guard: g}),
		Logger:    slog.New(slog.NewJSONHandler(log, nil)),
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = service.Run(ctx) })
	running.Go(func() { _ = manager.Run(ctx, ctx) })
	t.Cleanup(func() { stop(); running.Wait() })

	if _, err := service.CreateTopic(t.Context(), subscriptions.Topic{Name: testTopic}); err != nil {
		t.Fatal(err)
	}
	for id, endpoint := range map[string]string{
		"good": "https://good.example.com/", "redirect": "https://redirect.example.com:8443/", "bad": "https://bad.example.com:9443/",
		"moves": "https://moves.example.com/",
	} {
		sub := subscriptions.Subscription{
			Name: subscriptions.SubscriptionName{Project: "p", ID: id}, Topic: testTopic, Push: &subscriptions.PushConfig{Endpoint: endpoint},
		}
		withRetry(time.Minute, time.Minute)(&sub)
		if _, err := service.CreateSubscription(t.Context(), sub); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := service.Publish(t.Context(), testTopic, []subscriptions.Message{{Data: []byte("m")}}); err != nil {
		t.Fatal(err)
	}
	if host := <-good; host != "good.example.com" {
		t.Errorf("%s was pushed to", host)
	}
	want := map[string]string{"redirect": "redirect", "bad": "tls", "moves": "blocked"}
	refusals := refusalsOf(t, log, len(want))
	for id, reason := range want {
		line := refusals["projects/p/subscriptions/"+id]
		if line["reason"] != reason {
			t.Errorf("%s: %v, want the reason %q", id, line, reason)
		}
		if text, _ := line["error"].(string); reason == "tls" && !strings.Contains(text, "unknown authority") ||
			reason == "blocked" && !strings.Contains(text, "metadata") {
			t.Errorf("%s: %v does not say why", id, line)
		}
	}
	if n := inside.Load(); n > 0 {
		t.Errorf("what is inside was sent %d requests", n)
	}
}

// refusalsOf waits until so many subscriptions have refused a push, and returns a
// line of the log for each.
func refusalsOf(t *testing.T, log *lines, n int) map[string]map[string]any {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for tick := time.Tick(10 * time.Millisecond); ; {
		found := map[string]map[string]any{}
		for _, line := range log.parsed(t, slog.LevelWarn) {
			found[line["subscription"].(string)] = line
		}
		if len(found) >= n {
			return found
		}
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("no more than %v", found)
		}
	}
}

// Every connection goes through the guard, and what it refuses is classified as
// blocked, over TLS and without.
func TestEveryConnectionIsGuarded(t *testing.T) {
	net := &internet{T: t}
	transport := NewTransport(TransportOptions{Guard: newGuard(t, guard.Options{Dialer: net, Resolver: &hosts{}})})
	for _, endpoint := range []string{
		"http://127.0.0.1/", "https://127.0.0.1/", "https://localhost/", "https://[::ffff:169.254.169.254]/", "https://2130706433/",
		"http://" + publicAddress + "/",
	} {
		wantAnswer(t, post(t, transport, endpoint, 5*time.Second), 0, blocked)
	}
	if n := net.dialed.Load(); n > 0 {
		t.Errorf("%d connections", n)
	}
}

// No proxy is taken from the environment, which is why the guard sees all.
func TestTheEnvironmentNamesNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	ours := prooftest.NewAuthority(t)
	net := &internet{T: t, endpoints: map[string]string{
		publicAddress + ":443": serveTLS(t, ours, "good.example.com", func(http.ResponseWriter, *http.Request) {}),
	}}
	g := newGuard(t, guard.Options{Dialer: net, Resolver: &hosts{answers: map[string][]string{"good.example.com": {publicAddress}}}})
	for _, o := range []TransportOptions{{}, {Guard: g, TLS: &tls.Config{RootCAs: ours.Pool}}} {
		transport := NewTransport(o)
		r := httptest.NewRequest(http.MethodPost, "https://good.example.com/", nil)
		if transport.Proxy != nil {
			if proxy, err := transport.Proxy(r); proxy != nil || err != nil {
				t.Errorf("%v, %v", proxy, err)
			}
		}
		if o.Guard != nil {
			wantAnswer(t, post(t, transport, "https://good.example.com/", 5*time.Second), 200, accepted)
		}
	}
}

// Through a proxy the endpoint's certificate counts as without one, and what the
// proxy will not do is a refusal with a reason.
func TestThroughAProxy(t *testing.T) {
	ours, theirs := prooftest.NewAuthority(t), prooftest.NewAuthority(t)
	endpoints := map[string]string{
		"good.example.com:443": serveTLS(t, ours, "good.example.com", func(http.ResponseWriter, *http.Request) {}),
		"bad.example.com:443":  serveTLS(t, theirs, "bad.example.com", func(http.ResponseWriter, *http.Request) {}),
	}
	var asked sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Host, r.Header.Get("Proxy-Authorization"))
		address, ok := endpoints[r.Host]
		if r.Method != http.MethodConnect || !ok {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		tunnel(t, w, address)
	}))
	t.Cleanup(proxy.Close)
	where, err := url.Parse(strings.Replace(proxy.URL, "http://", "http://user:secret@", 1))
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, guard.Options{Proxy: where, Allow: []string{"plain.example.com"}, Resolver: &hosts{answers: map[string][]string{"inside.example.com": {"10.0.0.1"}}}})
	transport := func() *http.Transport {
		return NewTransport(TransportOptions{TLS: &tls.Config{RootCAs: ours.Pool}, Guard: g})
	}
	wantAnswer(t, post(t, transport(), "https://good.example.com/", 5*time.Second), 200, accepted)
	wantAnswer(t, post(t, transport(), "https://bad.example.com/", 5*time.Second), 0, tlsFailed)
	wantAnswer(t, post(t, transport(), "https://other.example.com/", 5*time.Second), 0, unreachable)
	wantAnswer(t, post(t, transport(), "http://plain.example.com/", 5*time.Second), 403, badStatus)
	wantAnswer(t, post(t, transport(), "https://inside.example.com/", 5*time.Second), 0, blocked)
	wantAnswer(t, post(t, transport(), "https://10.0.0.1/", 5*time.Second), 0, blocked)
	if authorization, ok := asked.Load("good.example.com:443"); !ok || authorization != "Basic dXNlcjpzZWNyZXQ=" {
		t.Errorf("the proxy was asked with %v", authorization)
	}
	for _, host := range []string{"inside.example.com:443", "10.0.0.1:443"} {
		if _, ok := asked.Load(host); ok {
			t.Errorf("the proxy was asked for %s", host)
		}
	}
	closed, _ := url.Parse(closedPort(t))
	g = newGuard(t, guard.Options{Proxy: closed, Resolver: &hosts{}})
	wantAnswer(t, post(t, NewTransport(TransportOptions{Guard: g}), "https://good.example.com/", 5*time.Second), 0, refused)
}

// A proxy can be spoken to over TLS. It is not shown the certificate that is meant
// for the endpoint.
func TestThroughAProxyOverTLS(t *testing.T) {
	ours := prooftest.NewAuthority(t)
	mine, err := tls.X509KeyPair(ours.Issue("billing"))
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan []*x509.Certificate, 10)
	asking := func(handle http.HandlerFunc) string {
		s := httptest.NewUnstartedServer(handle)
		s.TLS = ours.ServerTLS(tls.RequestClientCert)
		s.Config.ErrorLog = quiet()
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	endpoint := asking(func(_ http.ResponseWriter, r *http.Request) { shown <- r.TLS.PeerCertificates })
	proxy := asking(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.TLS.PeerCertificates
		tunnel(t, w, endpoint)
	})
	_, port, _ := net.SplitHostPort(proxy)
	where := &url.URL{Scheme: "https", Host: "localhost:" + port}
	g := newGuard(t, guard.Options{Proxy: where, Resolver: &hosts{}})
	for _, config := range []*tls.Config{
		{RootCAs: ours.Pool, Certificates: []tls.Certificate{mine}},
		{RootCAs: ours.Pool, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &mine, nil }},
	} {
		wantAnswer(t, post(t, NewTransport(TransportOptions{TLS: config, Guard: g}), "https://localhost.example/", 5*time.Second), 0, tlsFailed)
		if certificates := <-shown; len(certificates) > 0 {
			t.Errorf("the proxy was shown the certificate of %s", certificates[0].Subject.CommonName)
		}
		config.ServerName = "localhost"
		wantAnswer(t, post(t, NewTransport(TransportOptions{TLS: config, Guard: g}), "https://endpoint.example/", 5*time.Second), 200, accepted)
		if certificates := <-shown; len(certificates) > 0 {
			t.Errorf("the proxy was shown the certificate of %s", certificates[0].Subject.CommonName)
		}
		if certificates := <-shown; len(certificates) != 1 || certificates[0].Subject.CommonName != "billing" {
			t.Errorf("the endpoint was shown %v", certificates)
		}
	}
}

// tunnel joins a client of a proxy with an address until either ends.
func tunnel(t *testing.T, w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_, err = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	}
	if err != nil {
		t.Error(err)
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{here, there}, {there, here}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			way[0].Close()
		})
	}
	both.Wait()
}

// Case 14 of the field: of a huge answer no more is read than is bounded, and no
// more of it is in memory; that holds for headers and for answers of 1xx, too.
func TestNoMoreIsReadThanIsBounded(t *testing.T) {
	forever := func(head, more string) func(net.Conn) {
		return func(c net.Conn) {
			readRequest(c)
			_, err := io.WriteString(c, head)
			for chunk := []byte(strings.Repeat(more, 1+(64<<10)/len(more))); err == nil; {
				_, err = c.Write(chunk)
			}
		}
	}
	for name, c := range map[string]struct {
		endpoint string
		status   int
		want     reason
	}{
		"a body of 1 GiB":       {serveRaw(t, forever("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", "x")), 200, accepted},
		"an endless body":       {serveRaw(t, forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")), 200, accepted},
		"an endless trailer":    {serveRaw(t, forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n")), 200, accepted},
		"a body of a refusal":   {serveRaw(t, forever("HTTP/1.1 500 No\r\n\r\n", "x")), 500, badStatus},
		"an endless header":     {serveRaw(t, forever("HTTP/1.1 200 OK\r\nA: ", "x")), 0, hugeHeaders},
		"endless headers":       {serveRaw(t, forever("HTTP/1.1 200 OK\r\n", "A: b\r\n")), 0, hugeHeaders},
		"endless interim":       {serveRaw(t, forever("", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n")), 0, hugeHeaders},
		"an endless first line": {serveRaw(t, forever("HTTP/1.1 200 ", "x")), 0, hugeHeaders},
	} {
		u, err := url.Parse(c.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		net := &internet{T: t, endpoints: map[string]string{publicAddress + ":80": u.Host}}
		g := newGuard(t, guard.Options{Allow: []string{publicAddress}, Dialer: net})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		wantAnswer(t, post(t, NewTransport(TransportOptions{Guard: g}), "http://"+publicAddress+"/", 5*time.Second), c.status, c.want)
		runtime.ReadMemStats(&after)
		// The bound, what a buffer reads ahead, and the head.
		if n := net.read.Load(); n > maxHeaderBytes+16<<10 {
			t.Errorf("%s: %d bytes were read", name, n)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
	}
}

// What the log says of a blocked push tells no secret of the URL.
func TestABlockedPushIsLoggedWithoutSecrets(t *testing.T) {
	var log bytes.Buffer
	w := &worker{log: slog.New(slog.NewJSONHandler(&log, nil))}
	w.configure(subscriptions.Subscription{
		UID: "uid", Revision: 1, Push: &subscriptions.PushConfig{Endpoint: "https://user:hunter2@10.0.0.1/hook?token=hunter2"},
	})
	g := newGuard(t, guard.Options{})
	a := post(t, NewTransport(TransportOptions{Guard: g}), w.target.endpoint, 5*time.Second)
	w.logRefusal(&push{grant: &grant{sub: w.sub, target: w.target}, answer: a, reason: classify(a)})
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || line["reason"] != "blocked" || strings.Contains(log.String(), "hunter2") ||
		!strings.Contains(line["error"].(string), "a private address") {
		t.Errorf("%s (%v)", log.String(), err)
	}
}
