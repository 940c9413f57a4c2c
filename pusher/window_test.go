package pusher

import (
	"testing"
	"testing/synctest"
	"time"
)

// round lets n pushes begin and end after took, of which some were refused.
func (w *window) round(n, refused int, took time.Duration) {
	began := time.Now()
	w.uses(n)
	time.Sleep(took)
	for i := range n {
		w.observe(began, took, i >= refused)
	}
	time.Sleep(time.Millisecond)
}

func wantSizes(t *testing.T, w *window, step func(), want ...int) {
	t.Helper()
	for i, size := range want {
		if step(); w.size != size {
			t.Errorf("after round %d the window is %d, want %d", i+1, w.size, size)
		}
	}
}

func TestTheWindowDoublesUpTo3000AndThenGrowsByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow()
		full := func() { w.round(w.size, 0, 10*time.Millisecond) }
		wantSizes(t, &w, full, 20, 40, 80, 100) // now it must pay, which takes two rounds to see
		wantSizes(t, &w, full, 100, 200)
		for w.size < steepWindow {
			full()
		}
		if w.size != steepWindow {
			t.Errorf("it grew to %d at once", w.size)
		}
		wantSizes(t, &w, func() { w.uses(w.size); w.round(roundMost, 0, 10*time.Millisecond) }, 3001, 3002, 3003)
	})
}

// An endpoint that works on a hundred at a time is not sent thousands.
func TestTheWindowGrowsOnlyWhereThatPays(t *testing.T) {
	for capacity, want := range map[int][2]int{50: {100, 200}, 400: {400, 1600}, 100_000: {steepWindow, steepWindow}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWindow()
			for range 2000 {
				took := 20 * time.Millisecond * time.Duration(max(w.size, capacity)) / time.Duration(capacity)
				if took > slowAnswer {
					t.Fatalf("at %d answers take %v", w.size, took)
				}
				w.round(w.size, 0, took)
				if w.size >= steepWindow {
					break
				}
			}
			if w.size < want[0] || w.size > want[1] {
				t.Errorf("with a capacity of %d it grew to %d, want %d", capacity, w.size, want)
			}
		})
	}
}

func TestTheWindowGrowsOnlyWithUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow()
		for range 100 {
			w.round(1, 0, 10*time.Millisecond)
		}
		if w.size != firstWindow {
			t.Errorf("one push at a time made it %d", w.size)
		}
	})
}

func TestOneInAHundredMayBeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := window{size: 1000, climb: climb{size: 1000}}
		full := func(refused int) func() {
			return func() { w.uses(w.size); w.round(roundMost, refused, 10*time.Millisecond) }
		}
		wantSizes(t, &w, full(1), 1099)
		wantSizes(t, &w, full(2), 1089) // a hundredth less, and one more
	})
}

// An endpoint that always refuses a twentieth keeps a window of 2 / 0.05.
func TestAFewRefusalsLeaveAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := window{size: 2000}
		for i := range 100_000 {
			w.uses(w.size)
			w.observe(time.Now(), 10*time.Millisecond, i%20 > 0)
			time.Sleep(time.Millisecond)
		}
		if w.size < 20 || w.size > 60 {
			t.Errorf("it is %d, want about 40", w.size)
		}
	})
}

func TestRefusalsShrinkTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := window{size: 80}
		wantSizes(t, &w, func() { w.round(w.size, w.size, 10*time.Millisecond) }, 41, 21, 11, 6, minWindow, minWindow)
	})
}

func TestSlowAnswersShrinkTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := window{size: 80}
		slow := func() { w.round(w.size, 0, 1100*time.Millisecond) }
		wantSizes(t, &w, slow, 40, 20, 10, 10)
		wantSizes(t, &w, func() { w.round(w.size, 0, time.Second) }, 20) // that is not too slow
		w.size = minWindow
		wantSizes(t, &w, slow, minWindow)
	})
}

// What was out when the window shrank cannot shrink it again.
func TestARoundTripIsOneStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := window{size: 1000}
		w.round(1000, 1000, 10*time.Millisecond)
		if w.size != 501 {
			t.Errorf("1,000 refusals of pushes that were out together made it %d, want 501", w.size)
		}
	})
}
