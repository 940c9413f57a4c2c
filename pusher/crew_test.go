package pusher

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"weak"
)

// What one goroutine has done the same one does next, no more stay than are useful, and none after the end.
func TestCrew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		var done atomic.Int32
		for range 3 {
			c.run(func() { done.Add(1) })
			synctest.Wait()
		}
		if idle := c.idle.Load(); done.Load() != 3 || idle != 1 {
			t.Errorf("%d of 3 jobs were done one after another, and %d goroutines are idle", done.Load(), idle)
		}
		hold := make(chan struct{})
		for range 2 * maxIdle {
			c.run(func() {
				<-hold
				done.Add(1)
			})
		}
		synctest.Wait()
		if idle := c.idle.Load(); idle != 0 {
			t.Errorf("%d are idle while all have work", idle)
		}
		close(hold)
		synctest.Wait()
		if idle := c.idle.Load(); done.Load() != 3+2*maxIdle || idle != maxIdle {
			t.Errorf("%d jobs are done, %d goroutines stay, want %d", done.Load(), idle, maxIdle)
		}
		c.dismiss() // the bubble tells of any that is left
	})
}

// An idle goroutine keeps nothing of its last job, which may have held a large message.
func TestIdleCrewHoldsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		defer c.dismiss()
		message := new([1 << 20]byte)
		held := weak.Make(message)
		c.run(func() { message[0]++ })
		synctest.Wait()
		runtime.GC()
		if held.Value() != nil {
			t.Error("the message of a job that is done is still there")
		}
	})
}
