package port

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// conn is a connection whose first bytes are read already. It is no *tls.Conn even where there is one beneath: net/http must
// not negotiate again.
type conn struct {
	stream
	unread []byte
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.stream.Read(p)
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	if len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	told := inGooglesShape(p)
	if told == nil {
		return c.stream.Write(p)
	}
	if _, err := c.stream.Write(told); err != nil {
		return 0, err
	}
	return len(p), nil
}

// What net/http answers by itself, before any handler: a request that is not HTTP, one whose header is too long, or one with an
// encoding that it does not know. It writes each at once, with these fields alone, which no answer of a handler has.
var (
	ownAnswer  = []byte("HTTP/1.1 ")
	ownHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
)

const longestOwnAnswer = 1 << 10

// inGooglesShape is an answer of net/http's own as errors look like here, or nil if p is anything else.
func inGooglesShape(p []byte) []byte {
	if len(p) > longestOwnAnswer || !bytes.HasPrefix(p, ownAnswer) {
		return nil
	}
	line, text, own := bytes.Cut(p[len(ownAnswer):], ownHeaders)
	code, err := strconv.Atoi(string(line[:min(3, len(line))]))
	if !own || err != nil {
		return nil
	}
	// The text begins with code and name again, except in one answer.
	said := strings.TrimPrefix(string(text), fmt.Sprintf("%d ", code))
	return refusal(code, "the request is not HTTP that this server reads: "+said)
}

// refusal is an answer to what never gets to a handler.
func refusal(code int, message string) []byte {
	status := subscriptions.InvalidArgument
	if code >= http.StatusInternalServerError {
		status = subscriptions.Unimplemented
	}
	body, err := wire.Marshal(api.Error{Error: api.ErrorStatus{Code: code, Message: message, Status: string(status)}})
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		code, http.StatusText(code), len(body), body)
}

// refusePlain answers who spoke HTTP/1 where a handshake was to be, if that is why it failed.
func refusePlain(handshake error) {
	var e tls.RecordHeaderError
	if !errors.As(handshake, &e) || e.Conn == nil || !beginsHTTP(e.RecordHeader[:]) {
		return
	}
	// Who does not read it does not know how to.
	_, _ = e.Conn.Write(refusal(http.StatusBadRequest, "this port speaks TLS: use https://"))
}

// beginsHTTP tells whether the beginning of a connection is one of a request of HTTP/1.
func beginsHTTP(first []byte) bool {
	method, _, _ := bytes.Cut(first, []byte(" "))
	return len(method) > 0 && !bytes.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' })
}
