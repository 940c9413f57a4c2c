package redisstream

import (
	"maps"
	"slices"
	"time"

	"postrider/subscriptions"
)

// channel is one channel that is subscribed to, or about to be.
type channel struct {
	name      string
	watchers  []*watcher
	confirmed chan struct{} // closed once Redis has confirmed the subscription for the first time
	sure      bool          // that confirmed is closed
	idle      *time.Timer   // runs while there are no watchers
}

// names lists the channels that are subscribed to.
func (h *hub) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.channels))
}

// left notes that Redis has confirmed an unsubscribe.
func (h *hub) left(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leaving[name]--; h.leaving[name] <= 0 {
		delete(h.leaving, name)
	}
}

// forgetLeaving begins a new connection, which will not confirm what the old one was sent.
func (h *hub) forgetLeaving() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.leaving)
}

// confirm notes that a channel is subscribed to. Not for the first time means on a new connection: what was said in
// between is lost.
func (h *hub) confirm(name string) {
	h.mu.Lock()
	c := h.channels[name]
	if c == nil || h.leaving[name] > 0 {
		h.mu.Unlock()
		return
	}
	again := c.sure
	if !again {
		c.sure = true
		close(c.confirmed)
	}
	h.mu.Unlock()
	if again {
		h.dispatch(name, subscriptions.Wake{Kind: subscriptions.Resync})
	}
}

// dispatch calls a channel's watchers, outside the lock: a watcher may stop, or watch something else.
func (h *hub) dispatch(name string, wake subscriptions.Wake) {
	h.mu.Lock()
	var watchers []*watcher
	if c := h.channels[name]; c != nil {
		watchers = slices.Clone(c.watchers)
	}
	h.mu.Unlock()
	for _, w := range watchers {
		w.wake(wake)
	}
}
