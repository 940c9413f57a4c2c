//go:build load

package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/storage/redistest"
)

const (
	jobs    = 100
	workers = 6
	// jobTakes is 0.6 of the ack deadline.
	jobTakes = ackDeadline * 6 / 10
	// jobTime is for how long jobs are pulled. All of them would take the workers 100 s: pusher/field_test.go has all of them
	// done, in a time of its own.
	jobTime = 25 * time.Second
)

// Case 33 of the field: a queue 100 deep, jobs that take 0.6 of the deadline, two servers: none is worked on twice at once,
// nor at all, whether it is pushed or pulled.
func TestLoadNoJobIsDoneTwice(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	_, addrs := startServers(t, redis, 2)
	pushed, pulled := &work{T: t}, &work{T: t}
	endpoint := newQuietEndpoint(t, func(p push) int {
		pushed.job(p.Message.MessageID)
		return 204
	})
	clients := []*loadClient{newLoadClient(t, addrs[0]), newLoadClient(t, addrs[1])}
	c, deadline := clients[0], wire.Int32(ackDeadline/time.Second)
	c.must(c.topic(t.Context(), "jobs"))
	c.must(c.subscription(t.Context(), "pulled", api.Subscription{Topic: fullTopic("jobs"), AckDeadlineSeconds: deadline}))
	c.must(c.subscription(t.Context(), "pushed", api.Subscription{
		Topic: fullTopic("jobs"), AckDeadlineSeconds: deadline, PushConfig: &api.PushConfig{PushEndpoint: endpoint},
	}))
	c.must(c.publish(t.Context(), "jobs", jobs, 10))

	fetch, stop := context.WithTimeout(t.Context(), jobTime)
	defer stop()
	var all errgroup.Group
	for i := range workers {
		all.Go(func() error { return pulled.pull(fetch, clients[i%len(clients)], "pulled") })
	}
	c.must(all.Wait())
	// An endpoint that takes so long gets few at once, so not all.
	eventually(t, func() error {
		if n := pushed.done(); n < 3*workers {
			return fmt.Errorf("only %d of %d jobs were pushed", n, jobs)
		}
		return nil
	})
	t.Logf("%d jobs were pushed, %d pulled", pushed.done(), pulled.done())
	if n := pulled.done(); n < 3*workers {
		t.Errorf("only %d jobs were pulled in %v", n, jobTime)
	}
}

// work knows who does what.
type work struct {
	*testing.T
	mu   sync.Mutex
	jobs map[string]int // how far each is: once begun 1, once done 2
}

// job does one, for as long as it takes.
func (w *work) job(id string) {
	w.step(id, 0)
	time.Sleep(jobTakes)
	w.step(id, 1)
}

// step brings a job a step forward from where it should be.
func (w *work) step(id string, from int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jobs == nil {
		w.jobs = map[string]int{}
	}
	if at := w.jobs[id]; at != from {
		w.Errorf("job %s: at step %d, not %d: it was given out twice", id, at, from)
	}
	w.jobs[id]++
}

// pull does one job after the other until fetch ends; the last is finished.
func (w *work) pull(fetch context.Context, c *loadClient, sub string) error {
	for fetch.Err() == nil {
		received, err := c.pull(fetch, sub, 1)
		if err != nil || len(received) == 0 {
			return unlessDone(fetch, err)
		}
		w.job(received[0].Message.MessageID)
		if err := c.ack(w.Context(), sub, received); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) done() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, step := range w.jobs {
		if step == 2 {
			n++
		}
	}
	return n
}
