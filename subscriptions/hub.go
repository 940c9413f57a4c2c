package subscriptions

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// hub hands a topic's wake-ups to those on this server who wait for messages.
// The first to wait on a topic watches it and the last to leave stops that, so
// that an idle subscription costs nothing. Of those who wait on one
// subscription one is woken at a time; who finds more than it can carry wakes
// the next.
type hub struct {
	store Watcher

	mu     sync.Mutex
	topics map[string]*topicWatch
}

// topicWatch is one watched topic. Its mutex is the hub's.
type topicWatch struct {
	hub   *hub
	uid   string
	ready chan struct{} // closed when the watch is confirmed or has failed
	err   error
	stop  func()
	refs  int
	// waiters are those who wait, by the UID of their subscription. Who is woken
	// goes to the end of the row, so that all have their turn.
	waiters map[string][]*Waiter
	// due holds, by subscription, the timer of its next due message.
	due map[string]*dueTimer
	// listeners get every wake-up as it comes.
	listeners map[*listener]struct{}
	check     *time.Timer
}

type dueTimer struct {
	at    time.Time
	timer *time.Timer
}

// Waiter is somebody who waits for messages of one subscription.
type Waiter struct {
	watch  *topicWatch
	sub    string
	paused bool
	// C holds a token when it is worth trying to lease.
	C chan struct{}
}

type listener struct{ fn func(Wake) }

// checkEvery is how often, give or take a fifth, one waiter of each subscription
// tries again without being woken, in case a wake-up was lost.
const checkEvery = 5 * time.Second

func newHub(store Watcher) *hub { return &hub{store: store, topics: map[string]*topicWatch{}} }

// join starts waiting. When it returns, nothing that happens later is missed.
func (h *hub) join(ctx context.Context, topicUID, sub string) (*Waiter, error) {
	t, err := h.acquire(ctx, topicUID)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &Waiter{watch: t, sub: sub, C: make(chan struct{}, 1)}
	t.waiters[sub] = append(t.waiters[sub], w)
	if t.check == nil {
		t.check = time.AfterFunc(checkDelay(), t.runCheck)
	}
	return w, nil
}

// Leave stops waiting. A token that was not used goes to the next.
func (w *Waiter) Leave() {
	h := w.watch.hub
	h.mu.Lock()
	t := w.watch
	t.waiters[w.sub] = slices.DeleteFunc(t.waiters[w.sub], func(o *Waiter) bool { return o == w })
	select {
	case <-w.C:
		t.wakeOne(w.sub)
	default:
	}
	if len(t.waiters[w.sub]) == 0 {
		delete(t.waiters, w.sub)
		if d := t.due[w.sub]; d != nil {
			d.timer.Stop()
			delete(t.due, w.sub)
		}
	}
	h.mu.Unlock()
	h.release(t)
}

// Pass tells the next waiter of the subscription that there may be more.
func (w *Waiter) Pass() {
	w.watch.hub.mu.Lock()
	defer w.watch.hub.mu.Unlock()
	w.watch.wakeOther(w)
}

// Pause keeps wake-ups for messages from w, which has room for no more, until
// Resume: they go to the others. That the subscription changed still wakes it.
func (w *Waiter) Pause() {
	w.watch.hub.mu.Lock()
	defer w.watch.hub.mu.Unlock()
	w.paused = true
	if len(w.C) > 0 { // it may have come for a message
		w.watch.wakeOther(w)
	}
}

// Resume ends Pause. Lease once after it: what came meanwhile may have found
// nobody.
func (w *Waiter) Resume() {
	w.watch.hub.mu.Lock()
	defer w.watch.hub.mu.Unlock()
	w.paused = false
}

// WakeIn wakes a waiter of the subscription after d, unless one is woken
// before. A negative d does nothing.
func (w *Waiter) WakeIn(d time.Duration) {
	if d < 0 {
		return
	}
	w.watch.hub.mu.Lock()
	defer w.watch.hub.mu.Unlock()
	w.watch.dueIn(w.sub, d)
}

// listen calls fn with every wake-up of the topic until stop.
func (h *hub) listen(ctx context.Context, topicUID string, fn func(Wake)) (stop func(), err error) {
	t, err := h.acquire(ctx, topicUID)
	if err != nil {
		return nil, err
	}
	l := &listener{fn}
	h.mu.Lock()
	t.listeners[l] = struct{}{}
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		delete(t.listeners, l)
		h.mu.Unlock()
		h.release(t)
	}, nil
}

// acquire returns the watch of a topic once it is confirmed.
func (h *hub) acquire(ctx context.Context, topicUID string) (*topicWatch, error) {
	h.mu.Lock()
	t := h.topics[topicUID]
	if t == nil {
		t = &topicWatch{
			hub: h, uid: topicUID, ready: make(chan struct{}),
			waiters: map[string][]*Waiter{}, due: map[string]*dueTimer{}, listeners: map[*listener]struct{}{},
		}
		h.topics[topicUID] = t
		t.refs++
		h.mu.Unlock()
		// The watch serves others too, so it must outlive this caller.
		stop, err := h.store.Watch(context.WithoutCancel(ctx), topicUID, t.wake)
		h.mu.Lock()
		t.stop, t.err = stop, err
		close(t.ready)
		h.mu.Unlock()
	} else {
		t.refs++
		h.mu.Unlock()
		select {
		case <-t.ready:
		case <-ctx.Done():
			h.release(t)
			return nil, canceled(ctx)
		}
	}
	if t.err != nil {
		h.release(t)
		return nil, t.err
	}
	return t, nil
}

// release gives up one hold of the watch.
func (h *hub) release(t *topicWatch) {
	h.mu.Lock()
	t.refs--
	last := t.refs == 0
	if (last || t.err != nil) && h.topics[t.uid] == t {
		delete(h.topics, t.uid)
	}
	if last && t.check != nil {
		t.check.Stop()
	}
	stop := t.stop
	h.mu.Unlock()
	if last && stop != nil {
		stop()
	}
}

// wake is what the store calls.
func (t *topicWatch) wake(w Wake) {
	t.hub.mu.Lock()
	for sub := range t.waiters {
		if w.Subscription != "" && w.Subscription != sub {
			continue
		}
		switch {
		case w.Kind == Due && w.In > 0:
			t.dueIn(sub, w.In)
		case w.Kind == Revised:
			t.wakeAll(sub)
		default:
			t.wakeOne(sub)
		}
	}
	listeners := make([]*listener, 0, len(t.listeners))
	for l := range t.listeners {
		listeners = append(listeners, l)
	}
	t.hub.mu.Unlock()
	for _, l := range listeners {
		l.fn(w)
	}
}

// wakeOne gives a token to the first waiter of the subscription that has none.
func (t *topicWatch) wakeOne(sub string) { t.wakeFirst(sub, nil) }

func (t *topicWatch) wakeOther(w *Waiter) { t.wakeFirst(w.sub, w) }

func (t *topicWatch) wakeFirst(sub string, except *Waiter) {
	row := t.waiters[sub]
	for i, w := range row {
		if w == except || w.paused {
			continue
		}
		select {
		case w.C <- struct{}{}:
			copy(row[i:], row[i+1:])
			row[len(row)-1] = w
			return
		default: // has a token already
		}
	}
}

func (t *topicWatch) wakeAll(sub string) {
	for _, w := range t.waiters[sub] {
		select {
		case w.C <- struct{}{}:
		default:
		}
	}
}

// dueIn sets the subscription's timer, unless it goes off earlier already.
func (t *topicWatch) dueIn(sub string, d time.Duration) {
	at := time.Now().Add(d)
	if old := t.due[sub]; old != nil {
		if !at.Before(old.at) {
			return
		}
		old.timer.Stop()
	}
	due := &dueTimer{at: at}
	due.timer = time.AfterFunc(d, func() {
		t.hub.mu.Lock()
		defer t.hub.mu.Unlock()
		if t.due[sub] == due {
			delete(t.due, sub)
			t.wakeOne(sub)
		}
	})
	t.due[sub] = due
}

// runCheck wakes one waiter of each subscription, in case a wake-up was lost.
func (t *topicWatch) runCheck() {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	t.check = nil
	for sub := range t.waiters {
		t.wakeOne(sub)
	}
	if len(t.waiters) > 0 {
		t.check = time.AfterFunc(checkDelay(), t.runCheck)
	}
}

func checkDelay() time.Duration {
	return checkEvery*4/5 + rand.N(checkEvery*2/5)
}
