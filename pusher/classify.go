package pusher

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"postrider/pusher/guard"
	"postrider/subscriptions"
)

// reason says in a word why an attempt was refused.
type reason string

const (
	accepted    reason = ""
	badStatus   reason = "status"            // the endpoint said no
	redirected  reason = "redirect"          // to somewhere else; never followed
	unresolved  reason = "name not resolved" // DNS knows no such host, or did not answer
	refused     reason = "refused"           // nobody listens there
	unreachable reason = "unreachable"       // no way to the network or host
	tlsFailed   reason = "tls"               // no trusted connection came about
	hungUp      reason = "reset"             // the connection ended before the answer
	timedOut    reason = "timeout"           // no answer within the ack deadline
	hugeHeaders reason = "headers too large" // beyond maxHeaderBytes
	badExchange reason = "protocol"          // the answer is not HTTP
	badTarget   reason = "endpoint"          // the endpoint's URL is unusable
	blocked     reason = "blocked"           // nothing may be sent there; see package guard
	unproved    reason = "proof"             // what shows that it is us could not be made
	terminal    reason = "terminal"          // the endpoint said no, for good
	brokenOff   reason = "stopped"           // by ourselves, as the server stops
	noTime      reason = "lease used up"     // it came so late that nothing was sent
)

// released tells whether this was no attempt, so that none is spent.
func (r reason) released() bool { return r == brokenOff || r == noTime }

// outcome is the kind of a reason: what becomes of the message follows from it.
type outcome string

const (
	outAcked       outcome = "ACKED"
	outRefused     outcome = "REFUSED"
	outUnreachable outcome = "UNREACHABLE"
	outTimedOut    outcome = "TIMED_OUT"
	outBlocked     outcome = "BLOCKED"
	outTerminal    outcome = "TERMINAL"
	outReleased    outcome = "RELEASED"
)

// outcome groups reasons. What is acked is done, what is terminal goes to the
// dead-letter topic, what is released was no attempt; the others are tried again.
func (r reason) outcome() outcome {
	switch r {
	case accepted:
		return outAcked
	case badStatus, redirected, hugeHeaders, badExchange:
		return outRefused
	case timedOut:
		return outTimedOut
	case blocked, unproved, badTarget:
		return outBlocked // by ourselves: nothing was sent
	case terminal:
		return outTerminal
	case brokenOff, noTime:
		return outReleased
	default:
		return outUnreachable
	}
}

// answer is what came of an exchange: a status, or an error.
type answer struct {
	status     int
	retryAfter time.Duration // what the endpoint asked for, if it did
	header     http.Header
	text       string // how the answer of a refusal begins
	err        error
	last       bool // nothing more of the exchange follows
}

// classifyFor is classify with what a subscription takes for terminal.
func classifyFor(a answer, t subscriptions.TerminalAnswers) reason {
	r := classify(a)
	if a.err == nil && r != accepted && t.Match(a.status, a.header.Get(t.Header)) {
		return terminal
	}
	return r
}

// classify is the one place that decides what an answer means. Only a few
// statuses accept a message; 102 is among them, as at Google.
func classify(a answer) reason {
	if a.err != nil {
		return classifyError(a.err)
	}
	switch a.status {
	case http.StatusProcessing, http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return accepted
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return redirected
	default:
		return badStatus
	}
}

// classifyError goes from the particular to the general: a lookup that timed
// out failed to resolve, and a handshake that was reset failed as TLS.
func classifyError(err error) reason {
	switch {
	case is[*exchangeError](err):
		return as[*exchangeError](err).reason
	case is[*guard.Blocked](err):
		return blocked
	case is[*net.DNSError](err):
		return unresolved
	case errors.Is(err, context.Canceled):
		return brokenOff
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, syscall.ETIMEDOUT), is[net.Error](err) && as[net.Error](err).Timeout():
		return timedOut
	case isAlert(err), is[*tls.CertificateVerificationError](err), is[tls.RecordHeaderError](err): // through a proxy
		return tlsFailed
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return unreachable
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return hungUp
	default:
		return badExchange
	}
}

// exchangeError is an error whose reason is known where it arises.
type exchangeError struct {
	reason reason
	err    error
}

func (e *exchangeError) Error() string { return e.err.Error() }
func (e *exchangeError) Unwrap() error { return e.err }

// isAlert tells whether err is a TLS alert after the handshake, such as that of
// a server that wants a client certificate. The type of alerts is crypto/tls's
// own; what it promises is the operation.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

func as[E error](err error) E {
	e, _ := errors.AsType[E](err)
	return e
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
