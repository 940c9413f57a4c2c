package redisstream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// torment is how hard order is tried.
type torment struct {
	messages, keys, hot int // one message in hot is of the first key
	outstanding         int
	deadline            time.Duration
	crash               time.Duration // between two crashes of a server, about
	limit               time.Duration
}

func TestOrderUnderTorment(t *testing.T) {
	t.Parallel()
	torment{
		messages: 2500, keys: 60, hot: 8, outstanding: 200,
		deadline: 150 * time.Millisecond, crash: 200 * time.Millisecond, limit: 2 * time.Minute,
	}.run(t, redistest.Shared(t).URL())
}

const (
	tormentServers = 3
	tormentPullers = 8
)

// tormented is one run.
type tormented struct {
	torment
	*testing.T
	url, prefix string
	published   [][]string
	servers     [tormentServers]*mortal
	topic       subscriptions.TopicRef
	subs        []subscriptions.Subscription
	checkers    []*orderChecker
	done        atomic.Int64 // subscriptions that are through
	crashes     int
}

// mortal is a server that may die. Who makes a call holds the lock for reading.
type mortal struct {
	sync.RWMutex
	store   *redisstream.Store
	service *subscriptions.Service
	life    int
	stop    func() error
}

func (x torment) run(t *testing.T, url string) {
	w := &tormented{torment: x, T: t, url: url, prefix: fmt.Sprintf("torment-%x:", rand.Uint64())}
	for i := range w.servers {
		w.servers[i] = &mortal{}
		w.start(w.servers[i])
	}
	w.prepare()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), x.limit)
	defer cancel()
	var all, others errgroup.Group
	others.Go(func() error { return w.crashAndRestart(ctx) })
	others.Go(func() error { return w.bury(ctx) })
	all.Go(func() error { return w.publishAll(ctx) })
	for i := range w.subs {
		var pullers errgroup.Group
		for range tormentPullers {
			pullers.Go(func() error { return w.pull(ctx, i) })
		}
		all.Go(func() error {
			err := pullers.Wait()
			w.done.Add(1)
			return err
		})
	}
	err := all.Wait()
	took := time.Since(start)
	if err := others.Wait(); err != nil {
		t.Error(err)
	}
	w.report(err, took)
	for _, m := range w.servers {
		if err := m.stop(); err != nil {
			t.Error(err)
		}
	}
}

// start gives a server a new life.
func (w *tormented) start(m *mortal) {
	store, err := redisstream.Open(context.WithoutCancel(w.Context()), w.url, redisstream.Options{Prefix: w.prefix})
	if err != nil {
		w.Fatal(err)
	}
	m.store, m.life = store, m.life+1
	m.service = subscriptions.NewService(store, subscriptions.Options{Outstanding: w.outstanding})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.service.Run(ctx) }()
	m.stop = func() error {
		cancel()
		err := <-done
		if closed := store.Close(); err == nil {
			err = closed
		}
		return err
	}
}

// prepare makes the topics and subscriptions, and what will be published.
func (w *tormented) prepare() {
	s, ctx := w.servers[0].service, w.Context()
	topic, dead := subscriptions.TopicName{Project: "p", ID: "topic"}, subscriptions.TopicName{Project: "p", ID: "dead"}
	for _, name := range []subscriptions.TopicName{dead, topic} {
		made, err := s.CreateTopic(ctx, subscriptions.Topic{Name: name})
		if err != nil {
			w.Fatal(err)
		}
		w.topic = made.Ref()
	}
	next := make([]int, w.keys)
	for count := 0; count < w.messages; {
		batch := make([]string, 1+rand.N(min(500, w.messages-count)))
		for i := range batch {
			key := rand.N(w.keys)
			if rand.N(w.hot) == 0 {
				key = 0
			}
			batch[i] = fmt.Sprintf("k%d %d", key, next[key])
			if rand.N(300) == 0 {
				batch[i] += " poison"
			}
			next[key]++
		}
		w.published = append(w.published, batch)
		count += len(batch)
	}
	retry := &subscriptions.RetryPolicy{Minimum: 10 * time.Millisecond, Maximum: 40 * time.Millisecond}
	for _, sub := range []subscriptions.Subscription{
		{Name: subscriptions.SubscriptionName{ID: "at-once"}},
		{Name: subscriptions.SubscriptionName{ID: "backoff"}, Retry: retry},
		{Name: subscriptions.SubscriptionName{ID: "once"}, ExactlyOnce: true, Retry: retry},
		{Name: subscriptions.SubscriptionName{ID: "deadly"}, Retry: retry, DeadLetter: &subscriptions.DeadLetterPolicy{Topic: dead, MaxAttempts: 5}},
		{Name: subscriptions.SubscriptionName{ID: "graves"}, Topic: dead},
	} {
		sub.Name.Project = "p"
		if sub.Topic.ID == "" {
			sub.Topic, sub.Ordered = topic, true
		}
		made, err := s.CreateSubscription(ctx, sub)
		if err != nil {
			w.Fatal(err)
		}
		if sub.Ordered {
			w.subs = append(w.subs, made)
			w.checkers = append(w.checkers, newOrderChecker(made.Name.ID, made.Rules(1).MaxAttempts, w.published))
		}
	}
}

func (w *tormented) publishAll(ctx context.Context) error {
	for _, batch := range w.published {
		msgs := make([]subscriptions.Message, len(batch))
		for i, text := range batch {
			msgs[i].Data = []byte(text)
			_, _ = fmt.Sscan(text, &msgs[i].OrderingKey)
		}
		err := w.anyServer().use(func(m *mortal) error {
			_, err := m.store.Publish(ctx, w.topic, msgs)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *tormented) anyServer() *mortal { return w.servers[rand.N(len(w.servers))] }

func (m *mortal) use(do func(*mortal) error) error {
	m.RLock()
	defer m.RUnlock()
	return do(m)
}

// crashAndRestart ends servers in the middle of their own work. What their pullers hold is never settled.
func (w *tormented) crashAndRestart(ctx context.Context) error {
	for ctx.Err() == nil && int(w.done.Load()) < len(w.subs) {
		time.Sleep(w.crash/2 + rand.N(w.crash))
		m := w.anyServer()
		m.Lock()
		if err := m.stop(); err != nil {
			m.Unlock()
			return err
		}
		w.start(m)
		w.crashes++
		m.Unlock()
	}
	return nil
}

// bury takes what arrives in the dead-letter topic.
func (w *tormented) bury(ctx context.Context) error {
	graves := subscriptions.SubscriptionName{Project: "p", ID: "graves"}
	for {
		last := int(w.done.Load()) == len(w.subs) || ctx.Err() != nil
		var got []subscriptions.Received
		err := w.anyServer().use(func(m *mortal) (err error) {
			got, err = m.service.Pull(context.WithoutCancel(ctx), graves, 100, true)
			ids := make([]string, len(got))
			for i, g := range got {
				ids[i] = g.AckID
				w.checkers[len(w.checkers)-1].buried(g.Message)
			}
			if err == nil && len(ids) > 0 {
				err = m.service.Acknowledge(context.WithoutCancel(ctx), graves, ids)
			}
			return err
		})
		if err != nil || last && len(got) == 0 {
			return err
		}
		if len(got) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// report says what was seen and what must not have been.
func (w *tormented) report(err error, took time.Duration) {
	if err != nil {
		w.Error(err)
	}
	for i, c := range w.checkers {
		stats, err := w.servers[0].store.Stats(w.Context(), w.subs[i].Ref())
		if err != nil {
			w.Fatal(err)
		}
		failures := c.finish(stats)
		w.Logf("%s: %d messages of %d keys in %v: %d deliveries, %d of them again, %d late acks, %d refused acks, %d moved; %d crashes of servers; %d violations",
			c.name, w.messages, w.keys, took.Round(time.Millisecond), c.deliveries, c.redeliveries, c.lateAcks, c.refusedAcks, stats.DeadLettered, w.crashes, len(failures))
		for _, f := range failures[:min(5, len(failures))] {
			w.Error(f)
		}
	}
}
