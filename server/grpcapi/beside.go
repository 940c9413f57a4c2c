package grpcapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// Most connections of gRPC are served by grpc-go alone (Serve). A connection that net/http serves can have calls, too: one of
// a proxy, that mixes what comes from several clients.

// contentType begins the content type of every call.
const contentType = "application/grpc"

// sharedCalls are the calls that come by way of net/http.
type sharedCalls struct {
	mu       sync.Mutex
	stopping bool
	calls    sync.WaitGroup
}

// begin counts a call, unless the server is stopping.
func (s *sharedCalls) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.calls.Add(1)
	return true
}

// stop lets no more calls begin, and waits for those under way. At the end of ctx it breaks them off.
func (s *sharedCalls) stop(ctx context.Context, breakOff func()) error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.calls.Wait()
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		breakOff()
		<-over
		return ctx.Err()
	}
}

// Beside is a handler that serves calls of gRPC and leaves all other requests to rest.
func (s *Server) Beside(rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || !strings.HasPrefix(r.Header.Get("Content-Type"), contentType) || ofPage(r) {
			rest.ServeHTTP(w, r)
			return
		}
		if !s.sharedCalls.begin() {
			refuseStopping(w)
			return
		}
		defer s.sharedCalls.calls.Done()
		// A stream may live longer than any request of REST. It never fails where there is HTTP/2.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{})
		_ = control.SetWriteDeadline(time.Time{})
		s.shared.ServeHTTP(w, r)
	})
}

// ofPage tells whether a request has what browsers add. No page is of gRPC's clients, and what pages may do is REST's to say.
func ofPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// refuseStopping makes a client go to another server.
func refuseStopping(w http.ResponseWriter) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Grpc-Status", strconv.Itoa(int(codes.Unavailable)))
	w.Header().Set("Grpc-Message", "the server is stopping")
	w.WriteHeader(http.StatusOK)
}
