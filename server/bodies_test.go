package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"postrider/server"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// wired is a server behind net/http, in a bubble of its own time.
type wired struct {
	*testing.T
	pipe *bufconn.Listener
}

func onWire(t *testing.T, o server.Options, test func(wired)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := server.New(subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{}), o)
		s := &http.Server{Handler: h, ReadTimeout: time.Hour}
		w := wired{t, bufconn.Listen(1 << 10)}
		ended := make(chan error)
		go func() { ended <- s.Serve(w.pipe) }()
		defer func() {
			_ = s.Close()
			<-ended
			time.Sleep(time.Minute) // net/http waits before it closes, and a poll for its answer
		}()
		w.ask("PUT", "topics/orders", "{}").wants(200)
		test(w)
	})
}

// exchange is a request that may be half sent.
type exchange struct {
	wired
	net.Conn
}

// begin sends the head of a request.
func (w wired) begin(method, path string, length int) exchange {
	w.Helper()
	c, err := w.pipe.Dial()
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	x := exchange{w, c}
	x.send(fmt.Sprintf("%s /v1/projects/p/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", method, path, length))
	return x
}

// send ends where the server has closed the connection.
func (x exchange) send(text string) { _, _ = io.WriteString(x.Conn, text) }

func (w wired) ask(method, path, body string) exchange {
	w.Helper()
	x := w.begin(method, path, len(body))
	x.send(body)
	return x
}

// wants reads the answer.
func (x exchange) wants(status int, words ...string) http.Header {
	x.T.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(x.Conn), nil)
	if err != nil {
		x.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		x.Fatalf("answered %d %s, %v; want %d", resp.StatusCode, text, err, status)
	}
	for _, word := range words {
		if !strings.Contains(string(text), word) {
			x.Errorf("the answer lacks %q: %s", word, text)
		}
	}
	return resp.Header
}

// publishOf is a publish of n bytes.
func publishOf(n int) string {
	const frame = `{"messages":[{"data":""}]}`
	return strings.Replace(frame, `""`, `"`+strings.Repeat("A", (n-len(frame))/4*4)+`"`, 1)
}

const large = 600 << 10

// stall sends half of a large publish and no more.
func (w wired) stall() exchange {
	x := w.begin("POST", "topics/orders:publish", large)
	x.send(publishOf(large)[:large/2])
	synctest.Wait() // until all that came is read, or the next request could take the room that this one is about to
	return x
}

// Bodies that are half sent take room up to a bound. Small ones go on, and large ones get in when those that stall have ended.
func TestBodiesShareTheirRoom(t *testing.T) {
	t.Parallel()
	onWire(t, server.Options{MaxBodies: 1 << 20}, func(w wired) {
		var stalled []exchange
		for range 3 {
			stalled = append(stalled, w.stall())
		}
		w.ask("POST", "topics/orders:publish", publishOf(1000)).wants(200)
		start := time.Now()
		header := w.ask("POST", "topics/orders:publish", publishOf(large)).wants(503, "UNAVAILABLE", "no room")
		if waited := time.Since(start); waited < 5*time.Second || waited > 6*time.Second || header.Get("Retry-After") != "1" {
			t.Errorf("refused after %v, with %v", waited, header)
		}
		for _, x := range stalled {
			x.wants(408, "too slowly")
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("they stalled for %v", took)
		}
		for range 5 { // what ended has given its room back
			w.ask("POST", "topics/orders:publish", publishOf(large)).wants(200)
		}
	})
}

// One that waits for room gets it when another is done.
func TestBodyWaitsForRoom(t *testing.T) {
	t.Parallel()
	onWire(t, server.Options{MaxBodies: large}, func(w wired) {
		first := w.stall()
		second := make(chan struct{})
		go func() {
			defer close(second)
			w.ask("POST", "topics/orders:publish", publishOf(large)).wants(200)
		}()
		time.Sleep(4 * time.Second)
		_ = first.Close()
		<-second
	})
}

// A body that comes slowly, but not too slowly, is read to its end; and the answer to a long poll is not cut short by it.
func TestSlowBodyPasses(t *testing.T) {
	t.Parallel()
	onWire(t, server.Options{}, func(w wired) {
		body := publishOf(large)
		x := w.begin("POST", "topics/orders:publish", len(body))
		for ; len(body) > 0; body = body[min(70<<10, len(body)):] {
			x.send(body[:min(70<<10, len(body))])
			time.Sleep(time.Second)
		}
		x.wants(200)
		w.ask("PUT", "subscriptions/billing", `{"topic": "projects/p/topics/orders"}`).wants(200)
		padded := `{"maxMessages": 1` + strings.Repeat(" ", 100<<10) + `}`
		start := time.Now()
		w.ask("POST", "subscriptions/billing:pull", padded).wants(200, "{}")
		if waited := time.Since(start); waited < 25*time.Second {
			t.Errorf("the pull ended after %v", waited)
		}
	})
}
