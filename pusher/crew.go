package pusher

import (
	"sync"
	"sync/atomic"
)

// maxIdle is how many goroutines wait for the next push at most: 2 to 4 MB of
// stacks in the whole server, whatever it had to do before.
const maxIdle = 256

// crew are the goroutines that pushes run in. They are used again: a POST needs a
// deeper stack than a new goroutine has, and growing it took a twentieth of the
// time of a push.
type crew struct {
	jobs chan func()
	end  chan struct{}
	idle atomic.Int32
	all  sync.WaitGroup
}

func newCrew() *crew { return &crew{jobs: make(chan func()), end: make(chan struct{})} }

// run has somebody who is idle do a job, or else somebody new. It does not block.
func (c *crew) run(job func()) {
	select {
	case c.jobs <- job:
	default:
		c.all.Go(func() { c.work(job) })
	}
}

func (c *crew) work(job func()) {
	for {
		job()
		if c.idle.Add(1) > maxIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case job = <-c.jobs:
			c.idle.Add(-1)
		case <-c.end:
			return
		}
	}
}

// dismiss ends the crew, and returns when the jobs under way are done. None may
// come after it.
func (c *crew) dismiss() {
	close(c.end)
	c.all.Wait()
}
