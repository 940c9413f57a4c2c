package redisstream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// hub is the one Pub/Sub connection of a store, shared by all watchers. It connects with the first watcher; a channel
// without watchers stays subscribed for a while, so that pullers that come and go cost Redis nothing.
type hub struct {
	connect  func(ctx context.Context, channels ...string) *redis.PubSub
	linger   time.Duration // how long a channel without watchers stays
	patience time.Duration // how long the connection may be silent before it is asked for a sign of life
	log      *slog.Logger

	ctx  context.Context // ends with close
	end  context.CancelFunc
	wait sync.WaitGroup // the receiving loop, and timers that have not run

	// commands orders what is sent: a subscribe must not overtake the unsubscribe before it. It is taken before mu.
	commands sync.Mutex
	pubsub   *redis.PubSub

	mu       sync.Mutex
	channels map[string]*channel
	// leaving counts unsubscribes that Redis has not confirmed. It answers in order: until then, a confirmed subscription
	// to the same channel is an earlier one, which ends.
	leaving map[string]int
}

// askAgain is how long a subscription may stay unconfirmed before it is sent once more.
const askAgain = time.Second

func newHub(connect func(context.Context, ...string) *redis.PubSub, linger time.Duration, log *slog.Logger) *hub {
	h := &hub{connect: connect, linger: linger, patience: pingAfter, log: log, channels: map[string]*channel{}, leaving: map[string]int{}}
	h.ctx, h.end = context.WithCancel(context.Background())
	return h
}

// watch adds a watcher to a channel and waits until the channel is subscribed to.
func (h *hub) watch(ctx context.Context, name string, w *watcher) (stop func(), err error) {
	c, first := h.add(name, w)
	stop = func() { h.remove(c, w) }
	if first {
		h.subscribe(c)
	}
	for {
		select {
		case <-c.confirmed:
			return stop, nil
		case <-time.After(askAgain):
			h.subscribe(c)
		case <-h.ctx.Done():
			stop()
			return nil, errClosed()
		case <-ctx.Done():
			stop()
			return nil, failed(ctx, "watch", ctx.Err())
		}
	}
}

// add registers a watcher and tells whether it is the first of a channel. It needs the order of commands, too: the channel
// must not be about to be unsubscribed.
func (h *hub) add(name string, w *watcher) (c *channel, first bool) {
	h.commands.Lock()
	defer h.commands.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	c = h.channels[name]
	if first = c == nil; first {
		c = &channel{name: name, confirmed: make(chan struct{})}
		h.channels[name] = c
	}
	c.watchers = append(c.watchers, w)
	h.keep(c)
	return c, first
}

// keep stops a channel's idle timer.
func (h *hub) keep(c *channel) {
	if c.idle != nil && c.idle.Stop() {
		h.wait.Done()
	}
	c.idle = nil
}

// subscribe sends the subscription unless it is confirmed. The first one starts the loop.
func (h *hub) subscribe(c *channel) {
	h.commands.Lock()
	defer h.commands.Unlock()
	if h.ctx.Err() != nil || h.isSure(c) {
		return
	}
	if h.pubsub == nil {
		h.pubsub = h.connect(h.ctx)
		h.wait.Go(h.receive)
	}
	h.sent(h.pubsub.Subscribe(h.ctx, c.name))
}

// sent looks at what became of a command. A connection that fails is closed, which the receiving loop notices: it opens
// another one and subscribes to everything.
func (h *hub) sent(err error) {
	if err != nil {
		_ = h.pubsub.Close()
	}
}

func (h *hub) isSure(c *channel) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return c.sure
}

// remove takes a watcher off its channel. After the last one the channel lingers.
func (h *hub) remove(c *channel, w *watcher) {
	w.stopped.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(c.watchers)
	c.watchers = slices.DeleteFunc(slices.Clone(c.watchers), func(other *watcher) bool { return other == w })
	if before > 0 && len(c.watchers) == 0 && h.ctx.Err() == nil {
		h.wait.Add(1)
		c.idle = time.AfterFunc(h.linger, func() {
			defer h.wait.Done()
			h.unsubscribe(c)
		})
	}
}

// unsubscribe leaves a channel that still has no watchers.
func (h *hub) unsubscribe(c *channel) {
	h.commands.Lock()
	defer h.commands.Unlock()
	if h.forget(c) && h.pubsub != nil {
		h.sent(h.pubsub.Unsubscribe(h.ctx, c.name))
	}
}

func (h *hub) forget(c *channel) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	// An earlier timer may have been too late to be stopped and have done this already.
	if h.channels[c.name] != c || len(c.watchers) > 0 || h.ctx.Err() != nil {
		return false
	}
	delete(h.channels, c.name)
	h.leaving[c.name]++
	return true
}

// close ends the loop and the timers and waits for them.
func (h *hub) close() {
	h.end()
	h.commands.Lock()
	if h.pubsub != nil {
		_ = h.pubsub.Close()
	}
	h.commands.Unlock()
	h.mu.Lock()
	for _, c := range h.channels {
		h.keep(c)
	}
	h.mu.Unlock()
	h.wait.Wait()
}
