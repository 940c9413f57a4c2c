package pusher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"postrider/pusher/guard"
	"postrider/subscriptions"
)

// Case 15 of the field: every status has its documented outcome.
func TestClassifyEveryStatus(t *testing.T) {
	special := map[int]reason{
		102: accepted, 200: accepted, 201: accepted, 202: accepted, 204: accepted,
		301: redirected, 302: redirected, 303: redirected, 307: redirected, 308: redirected,
	}
	for status := 100; status <= 599; status++ {
		want, ok := special[status]
		if !ok {
			want = badStatus
		}
		got := classify(answer{status: status})
		if got != want {
			t.Errorf("classify(%d) = %q, want %q", status, got, want)
		}
		wantOutcome := outRefused
		if want == accepted {
			wantOutcome = outAcked
		}
		if got.outcome() != wantOutcome {
			t.Errorf("the outcome of %d is %s, want %s", status, got.outcome(), wantOutcome)
		}
		// What accepts cannot be terminal, and a status or a header makes any other so.
		said := answer{status: status, header: http.Header{"X-Final": {" True "}}}
		for _, terminals := range []subscriptions.TerminalAnswers{{Statuses: []int{status}}, {Header: "x-final"}} {
			if got := classifyFor(said, terminals); (got == terminal) != (want != accepted) {
				t.Errorf("with %+v %d is %q", terminals, status, got)
			}
		}
		said.header.Set("X-Final", "false")
		if got := classifyFor(said, subscriptions.TerminalAnswers{Header: "X-Final", Statuses: []int{status + 1}}); got != want {
			t.Errorf("%d is %q, want %q", status, got, want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for want, reasons := range map[outcome][]reason{
		outAcked:       {accepted},
		outRefused:     {badStatus, redirected, hugeHeaders, badExchange},
		outUnreachable: {unresolved, refused, unreachable, tlsFailed, hungUp},
		outTimedOut:    {timedOut},
		outBlocked:     {blocked, unproved, badTarget},
		outTerminal:    {terminal},
		outReleased:    {brokenOff, noTime},
	} {
		for _, r := range reasons {
			if got := r.outcome(); got != want {
				t.Errorf("the outcome of %q is %s, want %s", r, got, want)
			}
		}
	}
}

func TestClassifyErrors(t *testing.T) {
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for name, c := range map[string]struct {
		err  error
		want reason
	}{
		"no such host":        {dial(&net.DNSError{Err: "no such host", IsNotFound: true}), unresolved},
		"lookup timed out":    {dial(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), unresolved},
		"blocked":             {dial(&guard.Blocked{}), blocked},
		"a bad certificate":   {&tls.CertificateVerificationError{Err: errors.New("any")}, tlsFailed},
		"not TLS":             {tls.RecordHeaderError{Msg: "any"}, tlsFailed},
		"refused":             {dial(syscall.ECONNREFUSED), refused},
		"dial timed out":      {dial(syscall.ETIMEDOUT), timedOut},
		"no route":            {dial(syscall.EHOSTUNREACH), unreachable},
		"no network":          {dial(syscall.ENETUNREACH), unreachable},
		"reset":               {&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, hungUp},
		"broken pipe":         {&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, hungUp},
		"closed":              {fmt.Errorf("connection broken: %w", io.EOF), hungUp},
		"closed half-way":     {fmt.Errorf("connection broken: %w", io.ErrUnexpectedEOF), hungUp},
		"deadline":            {context.DeadlineExceeded, timedOut},
		"socket deadline":     {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, timedOut},
		"stopped":             {context.Canceled, brokenOff},
		"handshake":           {&exchangeError{reason: tlsFailed, err: errors.New("any")}, tlsFailed},
		"handshake reset":     {&exchangeError{reason: tlsFailed, err: syscall.ECONNRESET}, tlsFailed},
		"alert":               {&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, tlsFailed},
		"wrapped":             {fmt.Errorf("more: %w", &exchangeError{reason: hugeHeaders, err: errors.New("any")}), hugeHeaders},
		"whatever else it is": {errors.New("malformed HTTP response"), badExchange},
	} {
		if got := classify(answer{err: c.err}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Case 12 of the field, with real connections.
func TestReasonsOfRealErrors(t *testing.T) {
	nobody := serveRaw(t, func(net.Conn) {})
	for name, c := range map[string]struct {
		endpoint string
		want     reason
	}{
		"an unknown name": {"http://nowhere.invalid/", unresolved},
		"nobody listens":  {closedPort(t), refused},
		"a reset":         {serveRaw(t, func(c net.Conn) { readRequest(c); reset(c) }), hungUp},
		"a hang-up":       {serveRaw(t, readRequest), hungUp},
		"no TLS there":    {"https" + nobody[len("http"):], tlsFailed},
		"not HTTP":        {serveRaw(t, func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n") }), badExchange},
		"endless headers": {serveRaw(t, endlessHeaders), hugeHeaders},
		"a bad URL":       {"http://\x7f/", badTarget},
	} {
		t.Run(name, func(t *testing.T) {
			a := post(t, NewTransport(TransportOptions{}), c.endpoint, 5*time.Second)
			if got := classify(a); got != c.want {
				t.Errorf("%v is %q, want %q", a, got, c.want)
			}
		})
	}
}
