package web

import (
	"context"
	"time"
)

// healthAge is how long what the server says of itself is kept. To ask costs a command on each Redis.
const healthAge = time.Second

// health keeps what the server last said of itself, for all readers together: many open pages ask no more than one does.
type health struct {
	ask  func(context.Context) (ready bool, warnings []string)
	turn chan struct{} // held by who asks, or reads what was answered

	answered time.Time
	ready    bool
	warnings []string
}

func newHealth(ask func(context.Context) (bool, []string)) *health {
	return &health{ask: ask, turn: make(chan struct{}, 1)}
}

// get returns what the server says of itself, as of a moment ago. It fails only when ctx ends: who asks for all asks to the end,
// even when its own reader has gone.
func (h *health) get(ctx context.Context) (ready bool, warnings []string, err error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return false, nil, context.Cause(ctx)
	}
	if h.answered.IsZero() || time.Since(h.answered) >= healthAge {
		h.ready, h.warnings = h.ask(context.WithoutCancel(ctx))
		h.answered = time.Now()
	}
	return h.ready, h.warnings, nil
}
