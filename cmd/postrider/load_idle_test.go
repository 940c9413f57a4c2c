//go:build load

package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/storage/redistest"
)

const (
	idleCount = 1000
	// actedOn is how long after a deadline something is done about it.
	actedOn = time.Second
)

// thousandIdle are the bounds on a Redis and on each server with so many idle subscriptions.
var thousandIdle = idleBounds{commands: 50, percent: 2}

// A thousand subscriptions with a dead-letter policy, each on a topic of its own, half of them push, cost next to nothing.
// Nevertheless the last attempt that runs out, on whichever of them, is a dead letter within a second.
func TestLoadIdleSubscriptionsWithADeadLetterPolicy(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2} {
		t.Run(fmt.Sprintf("servers=%d", servers), func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			count := countCommands(t, redis)
			processes, addrs := startServers(t, redis, servers)
			d := newDeadLetters(t, addrs[0])
			d.createAll(idleCount)
			thousandIdle.hold(t, count, processes...)
			d.expire(40, 400, 40+idleCount/2, 400+idleCount/2)
		})
	}
}

// startServers starts some on one Redis, and waits until they know of one another.
func startServers(t *testing.T, redis *redistest.Server, n int) (servers []*program, addrs []string) {
	t.Helper()
	for range n {
		p, addr := startServer(t, "--redis-url", redis.URL())
		servers, addrs = append(servers, p), append(addrs, addr)
	}
	awaitServers(t, redis, n)
	return servers, addrs
}

// deadLetters are subscriptions whose messages all fail: the last attempt of each runs out.
type deadLetters struct {
	*loadClient
	endpoint *httptest.Server
	release  func()

	mu sync.Mutex
	// due is when the last attempt at the message of a subscription runs out, at the latest and at the earliest.
	due map[string][2]time.Time
}

const (
	deadLetterID = "letters"
	lastAttempt  = 5
	ackDeadline  = 10 * time.Second // the shortest
)

func newDeadLetters(t *testing.T, addr string) *deadLetters {
	t.Helper()
	d := &deadLetters{loadClient: newLoadClient(t, addr), due: map[string][2]time.Time{}}
	released := make(chan struct{})
	d.release = sync.OnceFunc(func() { close(released) })
	d.endpoint = httptest.NewServer(receiver(func(p push) int {
		if p.DeliveryAttempt < lastAttempt {
			return 503
		}
		// The lease counts from when it was asked for, some time before.
		d.expires(string(p.Message.Data), time.Now().Add(-time.Second), time.Now())
		<-released
		return 503
	}))
	t.Cleanup(d.endpoint.Close)
	t.Cleanup(d.release)
	return d
}

// expires notes an attempt that was begun in between.
func (d *deadLetters) expires(sub string, from, to time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due[sub] = [2]time.Time{from.Add(ackDeadline), to.Add(ackDeadline)}
}

// createAll creates n subscriptions, the second half push, and one that gets the dead letters.
func (d *deadLetters) createAll(n int) {
	d.Helper()
	start := time.Now()
	ctx := d.Context()
	d.must(d.topic(ctx, deadLetterID))
	d.must(d.subscription(ctx, deadLetterID, api.Subscription{Topic: fullTopic(deadLetterID)}))
	d.each(n, func(ctx context.Context, i int) error {
		id := topicID(i)
		if err := d.topic(ctx, id); err != nil {
			return err
		}
		sub := api.Subscription{
			Topic: fullTopic(id), AckDeadlineSeconds: wire.Int32(ackDeadline / time.Second),
			DeadLetterPolicy: &api.DeadLetterPolicy{DeadLetterTopic: fullTopic(deadLetterID), MaxDeliveryAttempts: lastAttempt},
		}
		if i >= n/2 {
			sub.PushConfig = &api.PushConfig{PushEndpoint: d.endpoint.URL}
		}
		return d.subscription(ctx, id, sub)
	})
	d.Logf("created %d topics and subscriptions in %v", n, time.Since(start))
}

// expire lets one message fail on each of the subscriptions, and waits for the dead letters.
func (d *deadLetters) expire(subs ...int) {
	d.Helper()
	var all errgroup.Group
	for _, i := range subs {
		all.Go(func() error {
			id := topicID(i)
			body := api.PublishRequest{Messages: []api.PubsubMessage{{Data: wire.Bytes(id)}}}
			if _, err := call[api.PublishResponse](d.Publish(d.Context(), defaultProject, id, body)); err != nil {
				return err
			}
			if i < idleCount/2 {
				return d.refuse(id)
			}
			return nil
		})
	}
	d.must(all.Wait())
	for seen := 0; seen < len(subs); {
		received, err := d.pull(d.Context(), deadLetterID, 10)
		now := time.Now()
		d.must(err)
		for _, r := range received {
			d.judge(string(r.Message.Data), now)
			seen++
		}
		if len(received) > 0 {
			d.must(d.ack(d.Context(), deadLetterID, received))
		}
	}
}

// refuse pulls the message of a subscription until its last attempt, which it keeps.
func (d *deadLetters) refuse(sub string) error {
	for attempt := 1; ; attempt++ {
		before := time.Now()
		received, err := d.pull(d.Context(), sub, 1)
		if err != nil {
			return err
		}
		if len(received) != 1 || int(received[0].DeliveryAttempt) != attempt {
			return fmt.Errorf("%s: attempt %d pulled %+v", sub, attempt, received)
		}
		if attempt == lastAttempt {
			d.expires(sub, before, time.Now())
			return nil
		}
		body := api.ModifyAckDeadlineRequest{AckIDs: ackIDs(received)}
		if _, err := call[api.Empty](d.ModifyAckDeadline(d.Context(), defaultProject, sub, body)); err != nil {
			return err
		}
	}
}

// judge says how late a dead letter came.
func (d *deadLetters) judge(sub string, came time.Time) {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	due, ok := d.due[sub]
	delete(d.due, sub)
	late := came.Sub(due[1])
	d.Logf("%s: the dead letter came %v after the last attempt ran out", sub, late.Round(time.Millisecond))
	if !ok || late > actedOn {
		d.Errorf("%s: the dead letter came %v after the last attempt ran out", sub, late)
	}
	// Redis counts in milliseconds, and cuts off the rest.
	if early := due[0].Sub(came); early > 2*time.Millisecond {
		d.Errorf("%s: the dead letter came %v before the last attempt ran out", sub, early)
	}
}

// Case 35 of the field: a thousand idle subscriptions, here all of them push: their workers, too, have nothing to do.
func TestLoadIdleSubscriptions(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	count := countCommands(t, redis)
	processes, addrs := startServers(t, redis, 1)
	c := newLoadClient(t, addrs[0])
	c.must(c.topic(t.Context(), "shared"))
	c.each(idleCount, func(ctx context.Context, i int) error {
		id, topic := topicID(i), "shared" // half of them
		if i%2 == 0 {
			topic = id
			if err := c.topic(ctx, id); err != nil {
				return err
			}
		}
		return c.subscription(ctx, id, api.Subscription{
			Topic: fullTopic(topic), PushConfig: &api.PushConfig{PushEndpoint: "http://127.0.0.1:9/"},
		})
	})
	thousandIdle.hold(t, count, processes...)
}

const (
	pulledSubs = 200
	pullers    = 100
	pullRounds = 20
)

var waitingPullers = idleBounds{commands: 50, percent: 1}

// Case 3 of the field: 200 idle subscriptions, and 100 pullers who wait.
func TestLoadWaitingPullers(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	count := countCommands(t, redis)
	processes, addrs := startServers(t, redis, 1)
	c := newLoadClient(t, addrs[0])
	c.createPulled()
	ctx, leave := context.WithCancel(t.Context())
	left := c.waitToPull(ctx)
	awaitPullers(t, redis)
	waitingPullers.hold(t, count, processes...)
	leave()
	c.must(left())
	waitingPullers.hold(t, count, processes...)
}

// The pullers connect and leave again and again, and leave nothing behind. It counts goroutines: no other test may run beside.
func TestLoadPullersComeAndGo(t *testing.T) {
	redis := redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = redis.URL() })
	c := newLoadClient(t, a.Addr())
	c.createPulled()
	round := func(stay time.Duration) {
		ctx, leave := context.WithCancel(t.Context())
		left := c.waitToPull(ctx)
		time.Sleep(stay)
		leave()
		c.must(left())
		c.transport.CloseIdleConnections()
	}
	round(time.Second) // what stays for good, such as the connection for wake-ups, is there then
	var before int
	stable := func() error {
		now := runtime.NumGoroutine()
		defer func() { before = now }()
		if now != before {
			return fmt.Errorf("%d goroutines, then %d", before, now)
		}
		return nil
	}
	time.Sleep(time.Second)
	eventually(t, stable)
	baseline := before
	most := 0
	for i := range pullRounds {
		round(time.Duration(i) * 20 * time.Millisecond) // they leave while they connect, ask, and wait
		most = max(most, runtime.NumGoroutine())
	}
	eventually(t, func() error {
		if n := runtime.NumGoroutine(); n > baseline {
			return fmt.Errorf("%d goroutines, %d before", n, baseline)
		}
		return nil
	})
	t.Logf("%d goroutines before, up to %d just after %d pullers left, %d in the end", baseline, most, pullers, runtime.NumGoroutine())
}

func (c *loadClient) createPulled() {
	c.Helper()
	c.each(pulledSubs, func(ctx context.Context, i int) error {
		if err := c.topic(ctx, topicID(i)); err != nil {
			return err
		}
		return c.subscription(ctx, topicID(i), api.Subscription{Topic: fullTopic(topicID(i))})
	})
}

// waitToPull lets pullers wait, each on a connection and a subscription of its own, until ctx ends; left then returns when
// they have left.
func (c *loadClient) waitToPull(ctx context.Context) (left func() error) {
	var all errgroup.Group
	for i := range pullers {
		all.Go(func() error {
			for {
				received, err := c.pull(ctx, topicID(i), 1)
				if err != nil || len(received) > 0 {
					return unlessDone(ctx, err)
				}
			}
		})
	}
	return all.Wait
}

// awaitPullers waits until all of them do: somebody listens to each one's topic.
func awaitPullers(t *testing.T, redis *redistest.Server) {
	t.Helper()
	eventually(t, func() error {
		if n := channels(t, redis); n <= pullers { // and one for the catalog
			return fmt.Errorf("%d channels are listened to", n)
		}
		return nil
	})
}
