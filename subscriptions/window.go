package subscriptions

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// windows knows what the streams of this server hold, so that a message frees
// its place by whatever settles it: an ack on the stream or by a call of its
// own, a nack, or the end of its lease.
type windows struct {
	mu sync.Mutex
	// holders says which window holds a message.
	holders map[held]*window
	// left are the windows of streams that closed with messages unsettled, oldest
	// first, for the next streams of their clients.
	left map[client][]*window
}

// held is a message of the subscription with this UID.
type held struct {
	subscription string
	id           MessageID
}

// client names who opened a stream on the subscription with this UID.
type client struct{ subscription, id string }

// window is what one stream holds. Its mutex is that of windows.
type window struct {
	all    *windows
	client client
	// maxMessages and maxBytes bound what is held; 0 or less is no bound.
	maxMessages, maxBytes int64

	leases  map[MessageID]lease
	bytes   int64
	pruneAt int
	// freed holds a token when a place became free.
	freed chan struct{}
	// forget, in a window that was left, goes off when its leases end.
	forget *time.Timer
}

// lease is a delivery that a window holds.
type lease struct {
	receipt Receipt
	until   time.Time
}

// leastPrune is from how many messages on a window that is not full looks for
// leases that ended.
const leastPrune = 1_024

func newWindows() *windows {
	return &windows{holders: map[held]*window{}, left: map[client][]*window{}}
}

// open makes the window of a new stream. A client that left one behind goes on
// with it, since it still has what is in there.
func (a *windows) open(c client, maxMessages, maxBytes int64) *window {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := &window{all: a, client: c, leases: map[MessageID]lease{}, freed: make(chan struct{}, 1), pruneAt: leastPrune}
	if left := a.left[c]; len(left) > 0 {
		w = left[0]
		w.takeFromLeft()
	}
	w.maxMessages, w.maxBytes = maxMessages, maxBytes
	return w
}

// close ends a stream's window. What a client with an id did not settle keeps
// its place until it does or the leases end, in case it opens another stream.
func (w *window) close() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if w.client.id == "" {
		for id := range w.leases {
			w.drop(id)
		}
	}
	w.leave()
}

// leave keeps the window, as long as it holds anything, for the next stream.
func (w *window) leave() {
	w.prune(time.Now())
	if len(w.leases) == 0 {
		return
	}
	var last time.Time
	for _, l := range w.leases {
		if l.until.After(last) {
			last = l.until
		}
	}
	w.all.left[w.client] = append(w.all.left[w.client], w)
	w.forget = time.AfterFunc(time.Until(last), func() {
		w.all.mu.Lock()
		defer w.all.mu.Unlock()
		if w.forget != nil {
			w.takeFromLeft()
			w.leave()
		}
	})
}

func (w *window) takeFromLeft() {
	w.forget.Stop()
	w.forget = nil
	rest := slices.DeleteFunc(w.all.left[w.client], func(o *window) bool { return o == w })
	setOrDelete(w.all.left, w.client, rest, len(rest) > 0)
}

// room is how many messages and bytes the window takes; both are 0 when it is
// full.
func (w *window) room() (messages, bytes int) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	messages, bytes = MaxPullMessages, maxStreamBytes
	if w.maxMessages > 0 {
		messages = int(min(int64(messages), w.maxMessages-int64(len(w.leases))))
	}
	if w.maxBytes > 0 {
		bytes = int(min(int64(bytes), w.maxBytes-w.bytes))
	}
	if messages <= 0 || bytes <= 0 {
		return 0, 0
	}
	return messages, bytes
}

// expire drops what is held by a lease that has ended, as far as this server
// knows.
func (w *window) expire() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.prune(time.Now())
}

// oldest lists up to limit of what is held, those first whose leases end first.
func (w *window) oldest(limit int) []Receipt {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	all := slices.SortedFunc(maps.Values(w.leases), func(a, b lease) int { return a.until.Compare(b.until) })
	rs := make([]Receipt, min(len(all), limit))
	for i := range rs {
		rs[i] = all[i].receipt
	}
	return rs
}

// remaining takes note of how much longer leases last, and tells how many are
// over.
func (w *window) remaining(rs []Receipt, left []time.Duration) (over int) {
	now := time.Now()
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	for i, r := range rs {
		switch l, ok := w.leases[r.ID]; {
		case !ok || l.receipt != r: // settled, or leased anew, meanwhile
		case left[i] > 0:
			w.leases[r.ID] = lease{r, now.Add(left[i])}
		default:
			w.drop(r.ID)
			over++
		}
	}
	return over
}

// add puts leased messages into the window.
func (w *window) add(rs []Receipt, until time.Time) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if w.maxMessages <= 0 && w.maxBytes <= 0 {
		return // nothing to count for
	}
	if len(w.leases)+len(rs) > w.pruneAt {
		w.prune(time.Now())
		w.pruneAt = max(leastPrune, 2*(len(w.leases)+len(rs)))
	}
	for _, r := range rs {
		key := held{w.client.subscription, r.ID}
		if before := w.all.holders[key]; before != nil {
			before.drop(r.ID)
		}
		w.all.holders[key] = w
		w.leases[r.ID] = lease{r, until}
		w.bytes += int64(r.Size)
	}
}

// settled frees the places of messages that are gone, whichever of their
// deliveries was acked.
func (a *windows) settled(subscription string, rs []Receipt) {
	a.each(subscription, rs, func(w *window, _ lease, r Receipt) { w.drop(r.ID) })
}

// returned frees the places of deliveries that were nacked or released.
func (a *windows) returned(subscription string, rs []Receipt) {
	a.each(subscription, rs, func(w *window, l lease, r Receipt) {
		if l.receipt.Number == r.Number {
			w.drop(r.ID)
		}
	})
}

// extended notes that the leases of deliveries end d from now.
func (a *windows) extended(subscription string, rs []Receipt, d time.Duration) {
	until := time.Now().Add(d)
	a.each(subscription, rs, func(w *window, l lease, r Receipt) {
		if l.receipt.Number == r.Number {
			w.leases[r.ID] = lease{l.receipt, until}
		}
	})
}

// each calls fn with those of rs whose messages a stream of this server holds.
func (a *windows) each(subscription string, rs []Receipt, fn func(*window, lease, Receipt)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.holders) == 0 {
		return
	}
	for _, r := range rs {
		if w := a.holders[held{subscription, r.ID}]; w != nil && w.leases[r.ID].receipt.Epoch == r.Epoch {
			fn(w, w.leases[r.ID], r)
		}
	}
}

// forget frees the places of all messages of the subscription with this UID:
// none of their deliveries counts any more.
func (a *windows) forget(subscription string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for h, w := range a.holders {
		if h.subscription == subscription {
			w.drop(h.id)
		}
	}
}

// prune drops what is held by a lease that has ended.
func (w *window) prune(now time.Time) {
	for id, l := range w.leases {
		if !l.until.After(now) {
			w.drop(id)
		}
	}
}

// drop frees the place of a message that w holds.
func (w *window) drop(id MessageID) {
	delete(w.all.holders, held{w.client.subscription, id})
	w.bytes -= int64(w.leases[id].receipt.Size)
	delete(w.leases, id)
	signal(w.freed)
	if len(w.leases) == 0 && w.forget != nil {
		w.takeFromLeft()
	}
}

// nextEnd is how long the first of the leases lasts.
func (w *window) nextEnd() time.Duration {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	var first time.Time
	for _, l := range w.leases {
		if first.IsZero() || l.until.Before(first) {
			first = l.until
		}
	}
	return time.Until(first)
}
