package port

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"postrider/cmd/postrider/port/porttest"
)

// long bounds every wait for what should happen soon.
const long = 20 * time.Second

// rig is a splitter with both servers behind it. Both serve gRPC, and net/http answers all else with the protocol.
type rig struct {
	testing.TB
	*Splitter
	tls *tls.Config // a client's; nil in the clear
	// The server's, likewise.
	pair        porttest.Pair
	certificate *Certificate
	// requests gets what net/http is asked, callers what calls grpc-go's server has.
	requests, callers chan string
}

func newRig(t testing.TB, encrypted bool) *rig {
	t.Helper()
	r := &rig{TB: t, requests: make(chan string, 100), callers: make(chan string, 100)}
	var o Options
	if encrypted {
		var err error
		r.pair = porttest.NewPair(t)
		r.certificate, err = LoadCertificate(r.pair.CertFile, r.pair.KeyFile, discard)
		r.must(err)
		o.TLS, r.tls = r.certificate.Config(), &tls.Config{RootCAs: r.pair.Roots(t), MinVersion: tls.VersionTLS12}
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	r.must(err)
	r.Splitter = NewSplitter(l, o)
	r.serve()
	return r
}

// serve runs the servers until the test ends.
func (r *rig) serve() {
	calls := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, do grpc.UnaryHandler) (any, error) {
		note(r.callers, info.FullMethod)
		return do(ctx, request)
	}))
	shared := grpc.NewServer()
	for _, s := range []*grpc.Server{calls, shared} {
		grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	}
	rest := &http.Server{ReadHeaderTimeout: long, Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		note(r.requests, q.Proto+" "+q.Header.Get("Content-Type"))
		if q.Header.Get("Content-Type") == contentTypeGRPC {
			shared.ServeHTTP(w, q)
			return
		}
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		_, _ = io.WriteString(w, q.Proto+" "+string(body))
	})}
	rest.Protocols.SetHTTP1(true)
	rest.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan error, 3)
	go func() { ended <- r.Splitter.Run() }()
	go func() { ended <- rest.Serve(r.REST()) }()
	go func() { ended <- calls.Serve(r.GRPC()) }()
	r.Cleanup(func() {
		_ = r.Close()
		_ = rest.Close()
		calls.Stop()
		shared.Stop()
		for range cap(ended) {
			<-ended
		}
	})
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// note adds what a server was asked, while there is room: a benchmark takes none of it.
func note(to chan<- string, what string) {
	select {
	case to <- what:
	default:
	}
}

// next is what a server was asked.
func (r *rig) next(asked <-chan string) string {
	r.Helper()
	select {
	case what := <-asked:
		return what
	case <-time.After(long):
		r.Fatal("the server was not asked")
		return ""
	}
}

// offering is the client's configuration with these protocols.
func (r *rig) offering(protocols ...string) *tls.Config {
	config := r.tls.Clone()
	config.NextProtos = protocols
	return config
}

// rest makes a request by HTTP and returns the answer.
func (r *rig) rest(p func(*http.Protocols), body string) string {
	r.Helper()
	t := &http.Transport{TLSClientConfig: r.tls.Clone(), Protocols: new(http.Protocols)}
	p(t.Protocols)
	defer t.CloseIdleConnections()
	scheme := "http://"
	if r.tls != nil {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, scheme+r.Addr().String(), strings.NewReader(body))
	r.must(err)
	resp, err := (&http.Client{Transport: t, Timeout: long}).Do(request)
	r.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	r.must(err)
	return string(text)
}

// credentials are those of a gRPC client.
func (r *rig) credentials() credentials.TransportCredentials {
	if r.tls == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(r.tls.Clone())
}

// call makes a call by gRPC.
func (r *rig) call(ctx context.Context, c credentials.TransportCredentials) {
	r.Helper()
	connection, err := grpc.NewClient(r.Addr().String(), grpc.WithTransportCredentials(c))
	r.must(err)
	defer connection.Close()
	answer, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	r.must(err)
	if answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		r.Error(answer)
	}
}

// dial opens a connection, encrypted if the rig is.
func (r *rig) dial(protocols ...string) net.Conn {
	r.Helper()
	c, err := net.DialTimeout("tcp", r.Addr().String(), long)
	r.must(err)
	if r.tls != nil {
		config := r.offering(protocols...)
		config.ServerName = "localhost"
		c = tls.Client(c, config)
	}
	r.Cleanup(func() { _ = c.Close() })
	r.must(c.SetDeadline(time.Now().Add(long)))
	return c
}
