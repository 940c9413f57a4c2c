package pusher

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"postrider/pusher/guard"
)

const (
	// maxHeaderBytes bounds the headers of an answer.
	maxHeaderBytes = 64 << 10
	// dialTimeout and handshakeTimeout bound what goes on after a POST gave up
	// on it: net/http finishes a connection for the next request.
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// keepAlive is how long an unused connection is kept, and keptInAll and
	// keptPerHost how many.
	keepAlive   = 90 * time.Second
	keptInAll   = 8192
	keptPerHost = 3000
	// writeBuffer lets a usual message leave in one piece.
	writeBuffer = 16 << 10
)

// TransportOptions are what a transport takes from outside. The zero value is
// for use.
type TransportOptions struct {
	// TLS is what connections to https endpoints start from; nil trusts the
	// roots of the system.
	TLS *tls.Config
	// Guard judges and opens every connection there is; nil goes anywhere.
	Guard *guard.Guard
}

// NewTransport makes the transport that every POST goes through. It keeps
// connections alive, takes no proxy from the environment, and speaks HTTP/1.1
// alone: a push has a connection to itself, so that one that stalls holds up no
// other.
func NewTransport(o TransportOptions) *http.Transport {
	anywhere := &net.Dialer{Timeout: dialTimeout}
	d := dialer{dial: anywhere.DialContext, dialPlain: anywhere.DialContext, tls: o.TLS.Clone()}
	var proxy func(*http.Request) (*url.URL, error)
	if o.Guard != nil {
		d.dial, d.dialPlain, proxy = o.Guard.DialContext, o.Guard.DialPlainContext, o.Guard.Proxy
		d.isProxy = o.Guard.IsProxy
	}
	if d.tls == nil {
		d.tls = &tls.Config{}
	}
	d.tls.NextProtos = []string{"http/1.1"}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  proxy,
		OnProxyConnectResponse: proxyAnswer,
		DialContext:            d.plain,
		DialTLSContext:         d.secure,
		TLSClientConfig:        d.tls,
		TLSHandshakeTimeout:    handshakeTimeout,
		Protocols:              protocols,
		DisableCompression:     true, // answers are thrown away
		IdleConnTimeout:        keepAlive,
		MaxIdleConns:           keptInAll,
		MaxIdleConnsPerHost:    keptPerHost,
		MaxResponseHeaderBytes: maxHeaderBytes,
		WriteBufferSize:        writeBuffer,
	}
}

// proxyAnswer fails when a proxy does not connect to where it should; net/http's
// error has no type.
func proxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return &exchangeError{reason: unreachable, err: fmt.Errorf("the proxy answered %q", answer.Status)}
	}
	return nil
}

// dialer makes connections that say why they failed.
type dialer struct {
	dial, dialPlain func(ctx context.Context, network, address string) (net.Conn, error)
	isProxy         func(address string) bool // nil is never
	tls             *tls.Config
}

func (d dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dialPlain(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &meteredConn{Conn: conn}, nil
}

// secure shakes hands here rather than in net/http, whose errors of this stage
// have no type of their own.
func (d dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+handshakeTimeout)
	defer cancel()
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, d.configFor(address))
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, &exchangeError{reason: tlsFailed, err: err}
	}
	return &meteredConn{Conn: secured}, nil
}

// configFor is what TLS with an address starts from. What is meant for endpoints,
// a name and a client's certificate, is not for the proxy.
func (d dialer) configFor(address string) *tls.Config {
	config := d.tls.Clone()
	if d.isProxy != nil && d.isProxy(address) {
		config.ServerName, config.Certificates, config.GetClientCertificate = "", nil, nil
	}
	if config.ServerName == "" {
		var err error
		if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
			config.ServerName = address
		}
	}
	return config
}

// meteredConn counts what is read: that an answer's headers were too large is
// an error of no type in net/http.
type meteredConn struct {
	net.Conn
	received atomic.Int64
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}
