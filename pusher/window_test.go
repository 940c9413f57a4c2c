package pusher

import (
	"testing"
	"testing/synctest"
	"time"
)

// observed lets a window see so many outcomes of pushes that begin now.
func observed(w *simpleWindow, n int, accepted bool) (atLeast time.Duration) {
	time.Sleep(time.Millisecond)
	for began := time.Now(); n > 0; n-- {
		atLeast = w.observe(began, accepted)
	}
	return atLeast
}

func TestTheWindowOpensWithSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimpleWindow()
		for _, want := range []int{10, 20, 40, 80, 100, 100} {
			if got := w.limit(); got != want {
				t.Errorf("limit %d, want %d", got, want)
			}
			observed(w, w.limit(), true)
		}
	})
}

func TestARoundOfRefusalsIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimpleWindow()
		want := minPushBackoff
		for _, limit := range []int{5, minWindow, minWindow} {
			atLeast := observed(w, 10, false)
			if w.limit() != limit {
				t.Errorf("limit %d, want %d", w.limit(), limit)
			}
			if atLeast < want*8/10 || atLeast > want*12/10 || atLeast < minPushBackoff {
				t.Errorf("backoff %v, want about %v", atLeast, want)
			}
			if until := time.Until(w.closedUntil()); until != atLeast {
				t.Errorf("closed for %v, want %v", until, atLeast)
			}
			want *= 2
		}
	})
}

func TestTheBackoffStaysInItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimpleWindow()
		for range 1000 {
			d := observed(w, 1, false)
			if d < minPushBackoff || d > maxPushBackoff {
				t.Fatalf("backoff %v, want %v to %v", d, minPushBackoff, maxPushBackoff)
			}
			time.Sleep(d)
		}
		if d := observed(w, 1, false); d < maxPushBackoff*8/10 {
			t.Errorf("backoff %v after 1,000 refusals", d)
		}
		observed(w, 1, true)
		if d := observed(w, 1, false); d > minPushBackoff*12/10 {
			t.Errorf("backoff %v after a success, want it to begin again", d)
		}
	})
}

func TestOneRefusalAmongSuccessesPausesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimpleWindow()
		observed(w, 20, true)
		if d := observed(w, 1, false); d != 0 || time.Now().Before(w.closedUntil()) {
			t.Errorf("backoff %v, closed until %v", d, w.closedUntil())
		}
		if d := observed(w, 9, false); d == 0 {
			t.Error("no backoff when most are refused")
		}
	})
}
