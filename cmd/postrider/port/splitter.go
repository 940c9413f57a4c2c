package port

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Options of a splitter. The zero value is for use in the clear.
type Options struct {
	// Logger is told when connections cannot be accepted; none by default.
	Logger *slog.Logger
	// TLS is how to speak TLS; without it connections are in the clear.
	TLS *tls.Config
}

// The time that a client has to say what it speaks. One of gRPC may have nothing to ask yet, so whoever speaks HTTP/2 and asks
// nothing for so long is taken for one.
const (
	beginTimeout    = 10 * time.Second
	defaultPatience = 5 * time.Second
)

// Splitter hands each connection of a listener to the side that speaks its protocol.
type Splitter struct {
	listener *net.TCPListener
	log      *slog.Logger
	tls      *tls.Config
	rest     *side
	grpc     *side

	patience time.Duration

	opening sync.WaitGroup // connections that have not said yet what they are
	open    context.Context
	close   context.CancelFunc
}

// NewSplitter makes a splitter of a listener, which Close closes.
func NewSplitter(listener *net.TCPListener, o Options) *Splitter {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Splitter{listener: listener, log: o.Logger, rest: newSide(listener), grpc: newSide(listener),
		patience: defaultPatience}
	if o.TLS != nil {
		s.tls = forBoth(o.TLS)
	}
	s.open, s.close = context.WithCancel(context.Background())
	return s
}

// Addr is where the splitter listens.
func (s *Splitter) Addr() net.Addr { return s.listener.Addr() }

// REST is the listener of a net/http server that takes HTTP/1 and unencrypted HTTP/2. What it reads is decrypted already.
// It may get gRPC, too.
func (s *Splitter) REST() net.Listener { return s.rest }

// GRPC is the listener of a grpc-go server without credentials.
func (s *Splitter) GRPC() net.Listener { return s.grpc }

// The pause after a failure to accept, such as for want of file descriptors, is as net/http's.
const (
	minAcceptPause = 5 * time.Millisecond
	maxAcceptPause = time.Second
)

// Run accepts connections until Close, which is no error. It returns once none is left that it has to hand over, so both sides
// must be served or closed.
func (s *Splitter) Run() error {
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
func (s *Splitter) Close() error {
	s.close()
	return s.listener.Close()
}

// side is a listener with the connections of one protocol.
type side struct {
	address     net.Addr
	connections chan net.Conn
	closed      chan struct{}
	close       func()
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
