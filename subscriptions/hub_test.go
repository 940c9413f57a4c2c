package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakeWatcher counts watches and lets a test wake them.
type fakeWatcher struct {
	mu    sync.Mutex
	fns   map[string][]func(Wake)
	total int
	err   error
}

func (f *fakeWatcher) Watch(_ context.Context, topic string, fn func(Wake)) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	f.total++
	if f.fns == nil {
		f.fns = map[string][]func(Wake){}
	}
	f.fns[topic] = append(f.fns[topic], fn)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.fns, topic)
	}, nil
}

func (f *fakeWatcher) wake(topic string, w Wake) {
	f.mu.Lock()
	fns := f.fns[topic]
	f.mu.Unlock()
	for _, fn := range fns {
		fn(w)
	}
}

func (f *fakeWatcher) watched() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fns)
}

func join(t *testing.T, h *hub, topic, sub string) *Waiter {
	t.Helper()
	w, err := h.join(t.Context(), topic, sub)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// woken counts the waiters that hold a token, and takes the tokens.
func woken(ws ...*Waiter) (n int) {
	for _, w := range ws {
		select {
		case <-w.C:
			n++
		default:
		}
	}
	return n
}

func want(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %d, want %d", what, got, want)
	}
}

func TestOnePublishWakesOneWaiterOfEachSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWatcher{}
		h := newHub(f)
		a1, a2, b := join(t, h, "t", "a"), join(t, h, "t", "a"), join(t, h, "t", "b")
		want(t, "watches", f.total, 1)
		f.wake("t", Wake{Kind: Published})
		want(t, "of a", woken(a1, a2), 1)
		want(t, "of b", woken(b), 1)
		f.wake("t", Wake{Kind: Due, Subscription: "a"})
		want(t, "of b after a's wake-up", woken(b), 0)
		a1.Leave() // holds the token: a2 must get it
		want(t, "a2", woken(a2), 1)
		f.wake("t", Wake{Kind: Revised, Subscription: "b"})
		want(t, "b revised", woken(b), 1)
		a2.Leave()
		b.Leave()
		want(t, "watched after all left", f.watched(), 0)
	})
}

func TestWhoFindsMoreWakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(&fakeWatcher{})
		a, b := join(t, h, "t", "s"), join(t, h, "t", "s")
		a.Pass()
		want(t, "itself", woken(a), 0)
		want(t, "the other", woken(b), 1)
		a.Leave()
		b.Leave()
	})
}

func TestWakeUpsGoRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWatcher{}
		h := newHub(f)
		ws := []*Waiter{join(t, h, "t", "s"), join(t, h, "t", "s"), join(t, h, "t", "s")}
		for i := range 2 * len(ws) {
			f.wake("t", Wake{Kind: Published})
			want(t, "the next", woken(ws[i%len(ws)]), 1)
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

func TestWhoPausesIsNotWokenForMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWatcher{}
		h := newHub(f)
		full, other := join(t, h, "t", "s"), join(t, h, "t", "s")
		f.wake("t", Wake{Kind: Published})
		full.Pause() // holds the token: it may be for a message
		want(t, "the other", woken(other), 1)
		want(t, "itself", woken(full), 1)
		for range 2 {
			f.wake("t", Wake{Kind: Published})
			want(t, "the other", woken(other), 1)
		}
		want(t, "paused", woken(full), 0)
		f.wake("t", Wake{Kind: Revised, Subscription: "s"})
		want(t, "paused, of the revised", woken(full), 1)
		other.Leave()
		f.wake("t", Wake{Kind: Published})
		want(t, "paused and alone", woken(full), 0)
		full.Resume()
		f.wake("t", Wake{Kind: Published})
		want(t, "resumed", woken(full), 1)
		full.Leave()
	})
}

func TestTheEarliestDueTimeWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWatcher{}
		h := newHub(f)
		w := join(t, h, "t", "s")
		w.WakeIn(-1)
		w.WakeIn(3 * time.Second)
		f.wake("t", Wake{Kind: Due, Subscription: "s", In: time.Second})
		f.wake("t", Wake{Kind: Due, Subscription: "s", In: 2 * time.Second})
		start := time.Now()
		<-w.C
		want(t, "milliseconds", int(time.Since(start).Milliseconds()), 1000)
		w.Leave()
	})
}

func TestALostWakeUpIsMadeGoodInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(&fakeWatcher{})
		w := join(t, h, "t", "s")
		start := time.Now()
		<-w.C
		if d := time.Since(start); d < 4*time.Second || d > 6*time.Second {
			t.Fatal(d)
		}
		w.Leave()
	})
}

// A server that waits on many subscriptions checks them one after the other, so
// that together they cost as little as a few.
func TestChecksOfManySubscriptionsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(&fakeWatcher{})
		const count = 1000
		var checked [count]atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range count {
			topic := "shared"
			if i%2 == 0 {
				topic = fmt.Sprint(i)
			}
			w := join(t, h, topic, fmt.Sprint(i))
			all.Go(func() {
				defer w.Leave()
				for {
					select {
					case <-w.C:
						checked[i].Add(1)
					case <-ctx.Done():
						return
					}
				}
			})
		}
		total := func() (n int64) {
			for i := range checked {
				n += checked[i].Load()
			}
			return n
		}
		time.Sleep(time.Minute) // the first are checked sooner: they were few then
		for range 30 {
			before := total()
			time.Sleep(10 * time.Second)
			if n := total() - before; n > 2*10*checksPerSecond {
				t.Errorf("%d checks in 10 s", n)
			}
		}
		for i := range checked {
			if checked[i].Load() == 0 {
				t.Errorf("subscription %d was not checked in 6 minutes", i)
			}
		}
		stop()
		all.Wait()
		want(t, "waited on", h.waited, 0)
	})
}

func TestAFailedWatchIsToldAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWatcher{err: errors.New("away")}
		h := newHub(f)
		if _, err := h.join(t.Context(), "t", "s"); err == nil {
			t.Fatal("no error")
		}
		f.err = nil
		join(t, h, "t", "s").Leave()
	})
}

// Case 3: who comes and goes leaves nothing behind.
func TestNothingIsLeftOfThoseWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWatcher{}
		h := newHub(f)
		for range 100 {
			w := join(t, h, "t", "s")
			w.WakeIn(time.Hour)
			w.Leave()
		}
		want(t, "watched", f.watched(), 0)
		want(t, "topics", len(h.topics), 0)
	})
}
