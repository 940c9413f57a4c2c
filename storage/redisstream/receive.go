package redisstream

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// How the hub notices a connection that died in silence, and how it comes back.
const (
	pingAfter    = 15 * time.Second // without a word; as long again without an answer is too long
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// receive is the hub's loop: it hands on what Redis says until the hub is closed.
func (h *hub) receive() {
	backoff, silent := firstBackoff, false
	for h.ctx.Err() == nil {
		message, err := h.current().ReceiveTimeout(h.ctx, h.patience)
		switch {
		case err == nil:
			h.handle(message)
			backoff, silent = firstBackoff, false
		case h.ctx.Err() != nil:
			return
		case isTimeout(err) && !silent:
			silent = true // unless it answers, it is taken for dead the next time
			h.ping()
		default:
			h.complain(err, backoff)
			h.sleep(backoff)
			h.reconnect()
			backoff, silent = min(2*backoff, lastBackoff), false
		}
	}
}

func (h *hub) handle(message any) {
	switch m := message.(type) {
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			h.confirm(m.Channel)
		} else {
			h.left(m.Channel)
		}
	case *redis.Message:
		h.dispatch(m.Channel, parseWake(m.Payload))
	}
}

func (h *hub) current() *redis.PubSub {
	h.commands.Lock()
	defer h.commands.Unlock()
	return h.pubsub
}

// ping asks for a sign of life.
func (h *hub) ping() {
	h.commands.Lock()
	defer h.commands.Unlock()
	h.sent(h.pubsub.Ping(h.ctx))
}

// reconnect opens a new connection and subscribes to all channels at once. Redis confirms each, which tells its watchers to
// look at everything.
func (h *hub) reconnect() {
	h.commands.Lock()
	defer h.commands.Unlock()
	if h.ctx.Err() != nil {
		return
	}
	_ = h.pubsub.Close()
	h.forgetLeaving()
	h.pubsub = h.connect(h.ctx)
	if names := h.names(); len(names) > 0 {
		h.sent(h.pubsub.Subscribe(h.ctx, names...))
	}
}

// complain logs the first of several failures in a row.
func (h *hub) complain(err error, backoff time.Duration) {
	if backoff == firstBackoff {
		h.log.Warn("the connection for wake-ups broke; it is opened again", "error", err)
	}
}

func (h *hub) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.ctx.Done():
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, context.DeadlineExceeded)
}
