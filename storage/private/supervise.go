package private

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"postrider/storage/private/child"
)

// The pauses before a redis-server is started again. They grow while it does not live longer than stable: one that cannot
// write dies at its first command, having loaded all its data. The longest keeps the way back to service short.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 500 * time.Millisecond
	stable       = 5 * time.Second
)

// Run starts the redis-server again whenever it dies, and keeps its disk from filling up. It returns nil when ctx ends or the
// server is closed; ctx does not end the redis-server.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	loops, ctx := errgroup.WithContext(ctx)
	loops.Go(func() error { s.supervise(ctx); return nil })
	loops.Go(func() error { s.tend(ctx); return nil })
	return loops.Wait()
}

func (s *Server) supervise(ctx context.Context) {
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(longestPause), backoff.WithMaxElapsedTime(0))
	for ctx.Err() == nil {
		p, _ := s.present()
		select {
		case <-ctx.Done():
			return
		case <-p.Done():
		}
		if p.Lived() > stable {
			pauses.Reset()
		}
		for why := s.cause(p); why != "" && s.mourn(ctx, why, pauses.NextBackOff()); {
			why = s.replace(ctx, p)
		}
	}
}

// mourn tells why there is no redis-server, and waits before the next. It returns false if there is to be none.
func (s *Server) mourn(ctx context.Context, why string, pause time.Duration) bool {
	s.mu.Lock()
	s.why, s.retry = why, time.Now().Add(pause)
	s.mu.Unlock()
	s.log.warn("the private Redis is started again", "because", why, "in", pause.Round(time.Millisecond), "dir", s.folder.dir)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// replace starts a redis-server in place of p. If there is none then it returns why; one that has ended again is found by
// whoever looks.
func (s *Server) replace(ctx context.Context, p *child.Process) (why string) {
	err := s.start(ctx)
	if now, _ := s.present(); err == nil || now != p {
		return ""
	}
	return err.Error()
}

// seldom logs at most one line a second: what happens again and again is told by the readiness all the time.
type seldom struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
}

func (l *seldom) warn(text string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.last) >= time.Second {
		l.last = now
		l.log.Warn(text, args...)
	}
}
