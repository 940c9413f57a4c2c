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
	waited int // subscriptions that somebody waits on
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
	// checks holds, by subscription, the timer of its next check.
	checks map[string]*time.Timer
	// listeners get every wake-up as it comes.
	listeners map[*listener]struct{}
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
	asked  bool
	// C holds a token when it is worth trying to lease.
	C chan struct{}
}

type listener struct{ fn func(Wake) }

const (
	// checkEvery is how often, give or take a fifth, one waiter of each
	// subscription tries again without being woken, in case a wake-up was lost.
	checkEvery = 5 * time.Second
	// checksPerSecond bounds the checks of one server, which stretches the time
	// between those of a subscription when many are waited on: a broken
	// connection is told by Resync, so little is left for checks to find.
	checksPerSecond = 5
)

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
	if len(t.waiters[sub]) == 0 {
		h.waited++
		t.checkLater(sub)
	}
	t.waiters[sub] = append(t.waiters[sub], w)
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
		h.waited--
		delete(t.waiters, w.sub)
		t.checks[w.sub].Stop()
		delete(t.checks, w.sub)
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

// Asked tells whether somebody has asked how pushes go since the last call.
func (w *Waiter) Asked() bool {
	w.watch.hub.mu.Lock()
	defer w.watch.hub.mu.Unlock()
	was := w.asked
	w.asked = false
	return was
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
			waiters: map[string][]*Waiter{}, due: map[string]*dueTimer{}, checks: map[string]*time.Timer{},
			listeners: map[*listener]struct{}{},
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
		case w.Kind == Reported:
		case w.Kind == Asked:
			t.ask(sub)
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

// ask wakes all with a question.
func (t *topicWatch) ask(sub string) {
	for _, w := range t.waiters[sub] {
		w.asked = true
	}
	t.wakeAll(sub)
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

// checkLater wakes a waiter of the subscription in a while, and again and again,
// in case a wake-up was lost.
func (t *topicWatch) checkLater(sub string) {
	var check *time.Timer
	check = time.AfterFunc(checkDelay(t.hub.waited), func() {
		t.hub.mu.Lock()
		defer t.hub.mu.Unlock()
		if t.checks[sub] == check {
			t.wakeOne(sub)
			t.checkLater(sub)
		}
	})
	t.checks[sub] = check
}

// checkDelay is the time to the next check of one of so many subscriptions.
func checkDelay(waited int) time.Duration {
	every := max(checkEvery, time.Duration(waited)*time.Second/checksPerSecond)
	return every*4/5 + rand.N(every*2/5)
}
