package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"postrider/subscriptions"
)

// A body is in memory from its first byte until its request is answered, and one that is half sent can stay so for minutes. So
// all bodies under way share a bounded room, of which a body takes what has come of it, and a body has to come at some speed.

// freeBody is how much of each body needs no room: those of acks, pulls and most publishes, which are cheap beside their
// connection and go on when there is no room for large ones.
const freeBody = 16 << 10

const (
	// roomWait is how long a body waits for room, in all. Those that wait hold what they have, so they must not wait for ever.
	roomWait = 5 * time.Second
	// A body that needs room has slowStart, and a second for each slowestBody bytes that have come.
	slowStart   = 10 * time.Second
	slowestBody = 64 << 10
)

// bodies is the room of all bodies under way.
type bodies struct{ room *semaphore.Weighted }

func newBodies(size int64) bodies { return bodies{semaphore.NewWeighted(size)} }

// metered makes bodies take room.
func (b bodies) metered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &meteredBody{ReadCloser: r.Body, ctx: r.Context(), room: b.room, control: http.NewResponseController(w), begun: time.Now()}
		r.Body = body
		defer body.release()
		next.ServeHTTP(w, r)
	})
}

// meteredBody is a body that takes room for what is read of it.
type meteredBody struct {
	io.ReadCloser
	ctx     context.Context
	room    *semaphore.Weighted
	control *http.ResponseController
	begun   time.Time
	read    int64
	taken   int64
	waited  time.Duration // for room, which is no fault of the sender's
}

// Read implements io.Reader. It fails with errNoRoom, and with a timeout for what comes too slowly.
func (b *meteredBody) Read(p []byte) (int, error) {
	if b.taken > 0 {
		b.deadline(b.begun.Add(b.waited + slowStart + time.Duration(b.read)*time.Second/slowestBody))
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil && b.taken > 0 {
		b.deadline(time.Time{}) // or the end of a client would be seen in it
	}
	if more := b.read - freeBody - b.taken; more > 0 {
		if !b.take(more) {
			return 0, errNoRoom
		}
	}
	return n, err
}

func (b *meteredBody) take(n int64) bool {
	if !b.room.TryAcquire(n) {
		waiting := time.Now()
		defer func() { b.waited += time.Since(waiting) }()
		ctx, cancel := context.WithTimeout(b.ctx, roomWait-b.waited)
		defer cancel()
		if b.room.Acquire(ctx, n) != nil {
			return false
		}
	}
	b.taken += n
	return true
}

func (b *meteredBody) release() { b.room.Release(b.taken) }

// deadline bounds the next read. Where that is not supported, there is no connection that could be slow.
func (b *meteredBody) deadline(t time.Time) { _ = b.control.SetReadDeadline(t) }

var errNoRoom = errors.New("no room for the body")

// tooSlow tells whether what failed is a read that took too long.
func tooSlow(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// unread is what to tell of a body that the server did not read to its end.
func unread(w http.ResponseWriter, err error) error {
	w.Header().Set("Connection", "close") // the rest of it is not worth reading
	if !errors.Is(err, errNoRoom) {
		return &refusal{http.StatusRequestTimeout, subscriptions.WrapError(err, subscriptions.DeadlineExceeded, "the body came too slowly")}
	}
	busy := subscriptions.Errorf(subscriptions.Unavailable, "there is no room for another large body while so many are under way: try again later")
	busy.RetryAfter = time.Second
	return busy
}
