package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// splitter lets REST and gRPC share a port. It reads the first bytes of each connection: HTTP/2 begins with "PRI", which no
// request of HTTP/1 does. So each kind gets to a server made for it; net/http can serve gRPC, too, at less than half the speed.
type splitter struct {
	listener *net.TCPListener
	log      *slog.Logger
	rest     *side
	grpc     *side

	opening sync.WaitGroup // connections whose first bytes are awaited
	open    context.Context
	close   context.CancelFunc
}

// side is a listener with the connections of one protocol.
type side struct {
	address     net.Addr
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

func newSplitter(listener *net.TCPListener, log *slog.Logger) *splitter {
	s := &splitter{listener: listener, log: log, rest: newSide(listener), grpc: newSide(listener)}
	s.open, s.close = context.WithCancel(context.Background())
	return s
}

func newSide(listener net.Listener) *side {
	s := &side{address: listener.Addr(), connections: make(chan net.Conn), closed: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

// Accept implements net.Listener.
func (s *side) Accept() (net.Conn, error) {
	select {
	case c := <-s.connections:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections of this protocol are closed from then on.
func (s *side) Close() error {
	s.close()
	return nil
}

// Addr implements net.Listener.
func (s *side) Addr() net.Addr { return s.address }

// hand gives a connection to who accepts it.
func (s *side) hand(c net.Conn) {
	select {
	case s.connections <- c:
	case <-s.closed:
		_ = c.Close() // nobody would read what it says
	}
}

// The pause after a failure to accept, such as for want of file descriptors, is as net/http's.
const (
	minAcceptPause = 5 * time.Millisecond
	maxAcceptPause = time.Second
)

// Run accepts connections until Close, which is no error. It returns once none is left that it has to hand over, so both sides
// must be served or closed.
func (s *splitter) Run() error {
	defer s.opening.Wait()
	pause := minAcceptPause
	for {
		c, err := s.listener.AcceptTCP()
		if err == nil {
			pause = minAcceptPause
			s.opening.Go(func() { s.welcome(c) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		s.log.Warn("connections cannot be accepted", "error", err)
		select {
		case <-s.open.Done():
			return nil
		case <-time.After(pause):
			pause = min(2*pause, maxAcceptPause)
		}
	}
}

// Close stops to accept. Connections that were handed over are not touched.
func (s *splitter) Close() error {
	s.close()
	return s.listener.Close()
}

// http2 is how each connection of HTTP/2 begins (RFC 9113, 3.4), as far as it takes to tell.
var http2 = []byte("PRI")

// welcome reads the first bytes of a connection and hands it to who speaks its protocol.
func (s *splitter) welcome(c *net.TCPConn) {
	first, err := s.first(c)
	if err != nil {
		_ = c.Close() // it says nothing, has gone, or came too late
		return
	}
	side := s.rest
	if bytes.HasPrefix(first, http2) {
		side = s.grpc
	}
	side.hand(&begun{Conn: c, first: first})
}

// first reads as many bytes as tell the protocols apart.
func (s *splitter) first(c *net.TCPConn) (first []byte, err error) {
	if err := c.SetReadDeadline(time.Now().Add(headerTimeout)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(s.open, func() { _ = c.SetReadDeadline(time.Now()) })
	defer stop()
	buffer := make([]byte, len(http2))
	for n := 0; n < len(http2) && bytes.HasPrefix(http2, first); first = buffer[:n] {
		more, err := c.Read(buffer[n:])
		if err != nil {
			return nil, err
		}
		n += more
	}
	return first, c.SetReadDeadline(time.Time{})
}

// begun is a connection whose first bytes are read already.
type begun struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}

// CloseWrite is what net/http needs so that the reader of a refusal gets it before the connection is closed.
func (b *begun) CloseWrite() error { return b.Conn.(*net.TCPConn).CloseWrite() }
