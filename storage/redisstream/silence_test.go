package redisstream_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// wire passes connections on to a server, until it is cut: then what is open stays open and carries nothing any more, as
// when the other machine has vanished.
type wire struct {
	net.Listener
	mu    sync.Mutex
	cut   chan struct{} // closed to silence the connections made so far
	conns []net.Conn
	wait  sync.WaitGroup
}

func startWire(t *testing.T, addr string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: listener, cut: make(chan struct{})}
	w.wait.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil {
				_ = near.Close()
				continue
			}
			w.join(near, far)
		}
	})
	t.Cleanup(w.stop)
	return w
}

func (w *wire) join(near, far net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, near, far)
	cut := w.cut
	w.wait.Go(func() { pass(far, near, cut) })
	w.wait.Go(func() { pass(near, far, cut) })
}

// pass copies until an end closes, and swallows everything once the wire is cut.
func pass(to, from net.Conn, cut chan struct{}) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		select {
		case <-cut:
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if err != nil {
			_ = to.Close()
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
	w.cut = make(chan struct{})
}

func (w *wire) stop() {
	_ = w.Close()
	w.mu.Lock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.wait.Wait()
}

// TestSilentConnectionIsReplaced: a connection that only ever listens would not notice that nobody is there any more.
func TestSilentConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.TCP())
	wire := startWire(t, server.Addr())
	listening := open(t, "redis://"+wire.Addr().String(), redisstream.Options{Log: silent()})
	listening.SetPatience(100 * time.Millisecond)
	x := attach(t, open(t, server.URL(), redisstream.Options{Prefix: listening.Prefix()}), "topic")
	wakes := watch(t, listening, "topic")
	wire.silence()
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Resync})
	x.publish(1)
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Published})
	pings := server.CommandCalls(t)["ping"]
	eventually(t, func() error {
		if n := server.CommandCalls(t)["ping"]; n < pings+3 {
			return fmt.Errorf("only %d pings came", n-pings)
		}
		return nil
	})
	if got := wakes.take(); len(got) > 0 {
		t.Errorf("a connection that answers was replaced: %v", got)
	}
}
