package redisstream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

// liveMove is a move under publishers and pullers, who go from the source to the target when it is over, as clients of servers
// that are pointed elsewhere do.
type liveMove struct {
	*transferWorld
	now      atomic.Pointer[subscriptions.Service] // what clients talk to
	switched chan struct{}
	readers  []*reader

	published []atomic.Int64 // by topic: how many were answered
}

// reader pulls from one subscription and checks what comes: all messages in the order in which they were published or, if it
// keeps order, those of each key.
type reader struct {
	sub     subscriptions.SubscriptionName
	topic   int
	ordered bool
	slow    bool       // it takes its time before the move is over
	last    chan int64 // takes the number of the last message
	first   int64      // how many were published before it was attached
	count   int64      // how many came
	seen    map[string]int64
	again   int64 // how many came again
}

// see checks a message.
func (r *reader) see(m subscriptions.Message) error {
	n, key := int64(binary.BigEndian.Uint64(m.Data)), ""
	if r.ordered {
		key = m.OrderingKey
	}
	switch last := r.seen[key]; {
	case n <= last:
		r.again++
		return nil
	case !r.ordered && n != r.first+r.count+1:
		return fmt.Errorf("%s: %d came after %d", r.sub, n, last)
	}
	r.count++
	r.seen[key] = n
	return nil
}

// publisher numbers messages and publishes them, until a topic has as many as there are to be before the move, or later until
// the move is over and some more have been published to the target.
func (l *liveMove) publisher(ctx context.Context, topic int, backlog int64, batch int) error {
	left := 1 // batches at the target
	for n := l.published[topic].Load(); backlog == 0 || n < backlog; n += int64(batch) {
		msgs := make([]subscriptions.Message, batch)
		for i := range msgs {
			msgs[i].Data, msgs[i].OrderingKey = make([]byte, 256), fmt.Sprint("key ", n/int64(batch)%7)
			binary.BigEndian.PutUint64(msgs[i].Data, uint64(n+int64(i)+1))
		}
		err := l.insist(ctx, func(s *subscriptions.Service) error {
			_, err := s.Publish(ctx, l.topics[topic], msgs)
			return err
		})
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		l.published[topic].Store(n + int64(batch))
		if backlog > 0 {
			continue
		}
		if l.over() {
			left--
		}
		if left == -50 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// insist does something until it is not told that the topic is being moved.
func (l *liveMove) insist(ctx context.Context, do func(*subscriptions.Service) error) error {
	for {
		err := do(l.now.Load())
		var e *subscriptions.Error
		if err == nil || !errors.As(err, &e) || e.Code != subscriptions.Unavailable || e.RetryAfter == 0 {
			return err
		}
		select {
		case <-l.switched:
		case <-ctx.Done():
			return err
		}
	}
}

// over tells whether clients talk to the target.
func (l *liveMove) over() bool {
	select {
	case <-l.switched:
		return true
	default:
		return false
	}
}

// read pulls and acks until the last message of the topic has come.
func (l *liveMove) read(ctx context.Context, r *reader, last <-chan int64) error {
	for until := int64(math.MaxInt64); r.first+r.count < until; {
		select {
		case until = <-last:
			continue
		default:
		}
		var got []subscriptions.Received
		limit := 1000
		if r.slow && !l.over() {
			limit = 20
			time.Sleep(5 * time.Millisecond)
		}
		err := l.insist(ctx, func(s *subscriptions.Service) (err error) {
			got, err = s.Pull(ctx, r.sub, limit, true)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: pull after %d: %w", r.sub, r.count, err)
		}
		var ids []string
		for _, m := range got {
			if err := r.see(m.Message); err != nil {
				return err
			}
			ids = append(ids, m.AckID)
		}
		if len(ids) == 0 {
			time.Sleep(time.Millisecond) // new ones are being published
			continue
		}
		err = l.insist(ctx, func(s *subscriptions.Service) error { return s.Acknowledge(ctx, r.sub, ids) })
		if err != nil {
			return fmt.Errorf("%s: acknowledge after %d: %w", r.sub, r.count, err)
		}
	}
	return nil
}

// runLiveMove publishes backlog messages to each of some topics, moves them under load to another store, and goes on there until
// each subscription has got all.
func runLiveMove(t *testing.T, from, to string, topics int, backlog int64) redisstream.Report {
	t.Helper()
	l := &liveMove{transferWorld: onStore(t, from), switched: make(chan struct{}), published: make([]atomic.Int64, topics)}
	l.now.Store(l.service)
	attach := func(name string, i int, seen int64, ordered bool) {
		r := &reader{topic: i, first: seen, ordered: ordered, slow: !ordered, last: make(chan int64, 1), seen: map[string]int64{}}
		r.sub = l.subscribe("p", fmt.Sprint(name, i), l.topics[i], func(s *subscriptions.Subscription) { s.Ordered = ordered })
		l.readers = append(l.readers, r)
	}
	for i := range topics {
		l.topic("p", fmt.Sprint("topic-", i))
		attach("behind", i, 0, false)
	}
	ctx := t.Context()
	start := time.Now()
	l.group(func(g *errgroup.Group) {
		for i := range topics {
			g.Go(func() error { return l.publisher(ctx, i, backlog, 1000) })
		}
	})
	t.Logf("published %d messages in %v", int64(topics)*backlog, time.Since(start).Round(time.Millisecond))

	for i := range topics { // at the end of the log
		attach("ahead", i, backlog, true)
	}
	var report redisstream.Report
	l.group(func(g *errgroup.Group) {
		for i := range topics {
			g.Go(func() error {
				err := l.publisher(ctx, i, 0, 20)
				for _, r := range l.readers {
					if r.topic == i {
						r.last <- l.published[i].Load()
					}
				}
				return err
			})
		}
		for _, r := range l.readers {
			g.Go(func() error { return l.read(ctx, r, r.last) })
		}
		g.Go(func() (err error) {
			report, err = l.move(t, from, to)
			return err
		})
	})
	t.Logf("all came %v after the start", time.Since(start).Round(time.Millisecond))
	for _, r := range l.readers {
		if r.again > 0 {
			t.Errorf("%s: %d messages came again", r.sub, r.again)
		}
		if stats := l.allStats()[r.sub]; stats != (subscriptions.Stats{Acked: l.published[r.topic].Load() - r.first}) {
			t.Errorf("%s: %+v, of %d messages", r.sub, stats, l.published[r.topic].Load())
		}
	}
	return report
}

// move moves the store, and then points clients to the target. Whatever comes of it, they do not wait any longer.
func (l *liveMove) move(t *testing.T, from, to string) (redisstream.Report, error) {
	defer close(l.switched)
	start := time.Now()
	before := l.published[0].Load()
	report, err := redisstream.Migrate(t.Context(), from, to, quiet())
	if err != nil {
		return report, err
	}
	t.Logf("moved %d messages in %v, frozen %v; meanwhile %d were published to the first topic", report.Messages,
		time.Since(start).Round(time.Millisecond), report.Frozen.Round(time.Millisecond), l.published[0].Load()-before)
	target := onStore(t, to)
	l.store = target.store
	l.now.Store(target.service)
	return report, nil
}

func (l *liveMove) group(start func(*errgroup.Group)) {
	l.Helper()
	var g errgroup.Group
	start(&g)
	l.ok(g.Wait())
}

// Nothing is lost and nothing changes its order when a store is moved under publishers and pullers.
func TestMigrateUnderLoad(t *testing.T) {
	t.Parallel()
	report := runLiveMove(t, emptyServer(t).URL(), emptyServer(t).URL(), 3, 3_000)
	if report.Messages == 0 {
		t.Error("there was nothing to move: it was no test")
	}
}
