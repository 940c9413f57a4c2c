package pusher

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"postrider/pusher/proof"
	"postrider/subscriptions"
)

const (
	// maxDiscard is how much of an answer's body is read so that its connection
	// can be used again, and discardTime how long that may take.
	maxDiscard  = 64 << 10
	discardTime = time.Second
	// excerptTime is how soon the beginning of a refusal's answer must come to be kept.
	excerptTime = 250 * time.Millisecond
)

// errInterim is the end of the patience with answers of 1xx.
var errInterim = errors.New("the endpoint sent too many answers of 1xx before its last one")

// idempotencyKey is the header that lets net/http repeat a POST.
const idempotencyKey = "X-Idempotency-Key"

// errHungUpAgain is the end of the patience with closed connections.
var errHungUpAgain = errors.New("the endpoint closed the connection without an answer, twice")

// target is an endpoint, ready to be POSTed to.
type target struct {
	endpoint string
	header   http.Header
	bare     *http.Request // what all requests have in common
	// shown is the URL as it may be logged: user info and query often hold secrets.
	shown string
	err   error
	// prover makes what tells the endpoint that it was us.
	prover *proof.Prover
}

func newTarget(endpoint, userAgent string) *target {
	t := &target{endpoint: endpoint, prover: new(proof.Prover)}
	u, err := url.Parse(endpoint)
	if err != nil {
		// The error would repeat the URL.
		t.err = &exchangeError{reason: badTarget, err: fmt.Errorf("the push endpoint is not a URL")}
		return t
	}
	t.header = http.Header{
		"Content-Type": {"application/json"},
		"User-Agent":   {userAgent},
		// An empty value is not sent; it lets net/http repeat a request whose kept
		// connection the endpoint closed just then, which is nobody's refusal.
		idempotencyKey: {},
	}
	if u.User != nil {
		password, _ := u.User.Password()
		t.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	t.bare = &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	t.shown = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	return t
}

// proved is the target of one attempt at a message, with the proofs that its
// subscription asks for. failed is why the transport cannot give its own.
func (t *target) proved(ctx context.Context, id subscriptions.MessageID, body []byte, failed error) *target {
	if t.err != nil {
		return t
	}
	proofs, err := t.prover.Header(ctx, id, body)
	if failed != nil {
		err = failed
	}
	if err == nil && proofs == nil {
		return t
	}
	one := *t
	if err != nil {
		one.err = &exchangeError{reason: unproved, err: err}
		return &one
	}
	one.header = maps.Clone(t.header)
	maps.Copy(one.header, proofs)
	return &one
}

// headerOf joins the target's header to a payload's. All envelopes share one: a
// transport does not write to it.
func (t *target) headerOf(p payload) http.Header {
	if p.header == nil {
		return t.header
	}
	for name, values := range t.header {
		_, given := p.header[name]
		once := name == idempotencyKey && len(p.body) == 0 // see repeat
		if !given && !once && name != "Content-Type" {
			p.header[name] = values
		}
	}
	return p.header
}

// request makes a POST.
func (t *target) request(ctx context.Context, p payload) *http.Request {
	r := t.bare.WithContext(ctx)
	r.Header, r.ContentLength = t.headerOf(p), int64(len(p.body))
	if len(p.body) == 0 {
		return r
	}
	// net/http opens the body again for each kept connection on which the request
	// came to nothing. An endpoint that always hangs up would get the message as
	// often as there are connections to its host, so there is one repetition.
	opened := 0
	open := func() (io.ReadCloser, error) {
		if opened++; opened > 2 {
			return nil, &exchangeError{reason: hungUp, err: errHungUpAgain}
		}
		return io.NopCloser(bytes.NewReader(p.body)), nil
	}
	r.Body, _ = open()
	r.GetBody = open
	return r
}

// deliver POSTs a payload, for no longer than ctx, and calls report once, as soon as
// the answer is known. It returns when the exchange is over, which can be later:
// the rest of a body is read for a while, and who answered 102 is still at work,
// so that hanging up would end it. Redirects are not followed, since a transport
// does not.
func deliver(ctx context.Context, transport http.RoundTripper, t *target, p payload, report func(answer)) {
	if t.err != nil {
		report(answer{err: t.err, last: true})
		return
	}
	x := &exchange{report: report}
	resp, err := transport.RoundTrip(t.request(x.trace(ctx), p))
	if err != nil && x.repeat(p, err) {
		resp, err = transport.RoundTrip(t.request(x.trace(ctx), p))
	}
	if err != nil {
		x.answer(answer{err: x.explain(err), last: true})
		return
	}
	defer resp.Body.Close()
	// The body of a 101 is the bare connection, which no context ends.
	a := answer{status: resp.StatusCode, header: resp.Header, retryAfter: retryAfter(resp.Header)}
	if resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		a.last = true
		x.answer(a)
		return
	}
	if classify(a) != accepted {
		a.text = beginning(resp.Body)
	}
	x.answer(a)
	late := time.AfterFunc(discardTime, func() { resp.Body.Close() })
	defer late.Stop()
	// What follows the status cannot change the outcome, nor can failing here.
	x.discard(resp.Body)
}

// beginning reads how a body begins, if that comes soon.
func beginning(body io.ReadCloser) string {
	late := time.AfterFunc(excerptTime, func() { body.Close() })
	defer late.Stop()
	text := make([]byte, subscriptions.MaxAnswer)
	n, _ := io.ReadFull(body, text)
	return strings.TrimSpace(strings.ToValidUTF8(string(text[:n]), "?"))
}

// exchange watches one POST.
type exchange struct {
	hooks    httptrace.ClientTrace
	report   func(answer)
	once     sync.Once
	conn     *meteredConn
	kept     bool  // conn had been used before
	received int64 // on conn before this exchange
	interim  int   // bytes of answers before the last
}

// trace makes net/http tell of the exchange.
func (x *exchange) trace(ctx context.Context) context.Context {
	x.hooks.GotConn, x.hooks.Got1xxResponse = x.gotConn, x.got1xx
	return httptrace.WithClientTrace(ctx, &x.hooks)
}

func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	if x.conn, _ = info.Conn.(*meteredConn); x.conn != nil {
		x.received = x.conn.received.Load()
		x.kept = info.Reused
	}
}

// got1xx is called from the connection's own goroutine.
func (x *exchange) got1xx(code int, header textproto.MIMEHeader) error {
	if code == http.StatusProcessing {
		x.answer(answer{status: code})
	}
	// net/http bounds each of these, and leaves their number to us.
	if x.interim += interimBytes(header); x.interim > maxHeaderBytes {
		return &exchangeError{reason: hugeHeaders, err: errInterim}
	}
	return nil
}

// discard reads a body up to the bound, by which what is around it counts as well:
// chunks may hold a byte each.
func (x *exchange) discard(body io.Reader) {
	const step = 1 << 10
	for n := int64(0); n < maxDiscard; n += step {
		if _, err := io.CopyN(io.Discard, body, step); err != nil || x.conn != nil && x.conn.received.Load()-x.received > maxDiscard {
			return
		}
	}
}

// interimBytes is about what an answer of 1xx takes.
func interimBytes(header textproto.MIMEHeader) int {
	n := len("HTTP/1.1 103 Early Hints\r\n\r\n")
	for name, values := range header {
		for _, value := range values {
			n += len(name) + len(value) + len(": \r\n")
		}
	}
	return n
}

// answer reports the first answer; a second waits until that is done, so that an
// exchange is never over before its outcome is known.
func (x *exchange) answer(a answer) { x.once.Do(func() { x.report(a) }) }

// repeat tells whether to send an empty body once more, on whose account net/http
// would do so without end: a kept connection ended before anything came back.
func (x *exchange) repeat(p payload, err error) bool {
	return len(p.body) == 0 && x.kept && x.conn.received.Load() == x.received && classifyError(err) == hungUp
}

// explain finds the reason of an error that does not tell it itself.
func (x *exchange) explain(err error) error {
	if x.conn != nil && x.conn.received.Load()-x.received >= maxHeaderBytes && classifyError(err) == badExchange {
		return &exchangeError{reason: hugeHeaders, err: err}
	}
	return err
}
