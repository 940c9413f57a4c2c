package port

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/net/http2"
)

// stream is a connection, encrypted or not.
type stream interface {
	net.Conn
	CloseWrite() error
}

// accepted is a connection with what its client offered in the handshake.
type accepted struct {
	*net.TCPConn
	offersHTTP1 bool
}

// forBoth is a configuration that negotiates HTTP/2 or HTTP/1 on connections of type *accepted, and notes what was offered.
func forBoth(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.NextProtos = []string{http2.NextProtoTLS, http1}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		hello.Conn.(*accepted).offersHTTP1 = slices.Contains(hello.SupportedProtos, http1)
		return nil, nil // config it is
	}
	return config
}

const http1 = "http/1.1"

// welcome finds out what a connection speaks and hands it to who speaks it, too.
func (s *Splitter) welcome(c *net.TCPConn) {
	stop := context.AfterFunc(s.open, func() { _ = c.SetReadDeadline(time.Now()) })
	defer stop()
	begun, side, err := s.begin(&accepted{TCPConn: c})
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil || s.open.Err() != nil {
		_ = c.Close() // it says nothing, says it badly, has gone, or came too late
		return
	}
	side.hand(begun)
}

// begin reads as much as it takes to tell which side a connection belongs to.
func (s *Splitter) begin(c *accepted) (*conn, *side, error) {
	if err := c.SetDeadline(time.Now().Add(beginTimeout)); err != nil || s.open.Err() != nil {
		return nil, nil, errors.Join(err, s.open.Err())
	}
	var plain stream = c.TCPConn
	if s.tls != nil {
		encrypted := tls.Server(c, s.tls)
		if err := encrypted.HandshakeContext(s.open); err != nil {
			refusePlain(err)
			return nil, nil, err
		}
		plain = encrypted
		if encrypted.ConnectionState().NegotiatedProtocol == http2.NextProtoTLS && c.offersHTTP1 {
			return &conn{stream: plain}, s.rest, nil
		}
	}
	first, err := readFirst(plain)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.HasPrefix(preface, first) {
		return &conn{stream: plain, unread: first}, s.rest, nil
	}
	// Reads alone end early: TLS cannot go on after a write that did.
	if err := c.SetReadDeadline(time.Now().Add(s.patience)); err != nil || s.open.Err() != nil {
		return nil, nil, errors.Join(err, s.open.Err())
	}
	hello := newHello(plain, first)
	err = hello.read()
	if err != nil && (hello.asked || !errors.Is(err, os.ErrDeadlineExceeded)) {
		return nil, nil, err
	}
	begun := &conn{stream: plain, unread: hello.bytes}
	if hello.asked && !hello.onlyGRPC {
		return begun, s.rest, nil
	}
	return begun, s.grpc, nil
}

// preface is how each connection of HTTP/2 begins (RFC 9113, 3.4).
var preface = []byte(http2.ClientPreface)

// enough of the preface tells it from what HTTP/1 begins with.
const enough = len("PRI")

// readFirst reads as many bytes as tell the protocols apart: a beginning of the preface, or something else.
func readFirst(c io.Reader) (first []byte, err error) {
	buffer := make([]byte, enough)
	for n := 0; n < enough && bytes.HasPrefix(preface, first); first = buffer[:n] {
		more, err := c.Read(buffer[n:])
		if err != nil {
			return nil, err
		}
		n += more
	}
	return first, nil
}
