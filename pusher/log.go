package pusher

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logEvery is how often a refused attempt of one subscription is logged as a
// warning; the others are logged for debugging. With the push backoff an
// endpoint that is down costs a line or two a minute.
const logEvery = time.Second

// maxLoggedError bounds the text of an error, which can hold what an endpoint sent.
const maxLoggedError = 300

// limiter lets one through in a while and counts those it held back.
type limiter struct {
	mu   sync.Mutex
	last time.Time
	held int
}

func (l *limiter) allow(now time.Time) (held int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last) < logEvery {
		l.held++
		return 0, false
	}
	held, l.held, l.last = l.held, 0, now
	return held, true
}

func (w *worker) logRefusal(p *push) {
	level := slog.LevelWarn
	held, ok := w.refusals.allow(time.Now())
	if !ok {
		level = slog.LevelDebug
	}
	if !w.log.Enabled(context.Background(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("subscription", p.sub.Name.String()),
		slog.String("message", p.receipt.ID.String()),
		slog.Int("attempt", p.attempt),
		slog.String("reason", string(p.reason)),
		slog.Int("status", p.answer.status),
		slog.Duration("duration", p.took),
		slog.String("endpoint", p.target.shown),
		slog.Int("suppressed", held),
	}
	if p.answer.err != nil {
		text := p.answer.err.Error()
		attrs = append(attrs, slog.String("error", text[:min(len(text), maxLoggedError)]))
	}
	w.log.LogAttrs(context.Background(), level, "push refused", attrs...)
}

// logBreaker tells of a breaker that has opened or closed, by a push, or by hand
// if there is none.
func (w *worker) logBreaker(c change, p *push) {
	if c == unchanged {
		return // as after nearly every push
	}
	b := &w.flow.breaker
	attrs := []any{"subscription", w.sub.Name.String(), "endpoint", w.target.shown}
	switch c {
	case hasOpened:
		w.log.Warn("circuit breaker opened: pushes were refused in a row, the backlog is kept", append(attrs,
			"refused", breakerThreshold, "reason", string(p.reason), "status", p.answer.status, "next_probe", time.Until(b.probeAt))...)
	case hasClosed:
		w.log.Info("circuit breaker closed", append(attrs,
			"by_hand", p == nil, "open_for", time.Since(b.opened), "failed_probes", b.probes)...)
	}
}
