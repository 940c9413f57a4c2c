package pusher

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// serveRaw accepts connections and lets handle answer each with whatever bytes.
func serveRaw(t *testing.T, handle func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			handle(conn)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); accepting.Wait() })
	return "http://" + l.Addr().String() + "/"
}

// reset closes a connection with a RST.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

// readRequest reads what has come of a request.
func readRequest(conn net.Conn) { _, _ = conn.Read(make([]byte, 64<<10)) }

// post delivers an empty envelope and returns what came of it.
func post(t *testing.T, transport *http.Transport, endpoint string, deadline time.Duration) answer {
	t.Helper()
	defer transport.CloseIdleConnections()
	var got []answer
	deliverWithin(t, transport, newTarget(endpoint, "test"), payload{body: []byte("{}")}, time.Now().Add(deadline),
		func(a answer) { got = append(got, a) })
	if len(got) != 1 {
		t.Fatalf("%d answers of one POST: %v", len(got), got)
	}
	return got[0]
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/"
}

func endlessHeaders(conn net.Conn) {
	readRequest(conn)
	_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	for i := 0; err == nil; i++ {
		_, err = fmt.Fprintf(conn, "X-%d: %0100d\r\n", i, i)
	}
}

// quiet is for servers that are meant to fail.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// readOneRequest reads a request, behind which nothing may follow.
func readOneRequest(t *testing.T, wire io.Reader) *http.Request {
	t.Helper()
	buffered := bufio.NewReader(wire)
	r, err := http.ReadRequest(buffered)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(buffered); len(rest) > 0 {
		t.Errorf("after the request comes %q", rest)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// deliverWithin delivers, for no longer than until.
func deliverWithin(t *testing.T, transport http.RoundTripper, target *target, p payload, until time.Time, report func(answer)) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), until)
	defer cancel()
	deliver(ctx, transport, target, p, report)
}
