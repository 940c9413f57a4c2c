package redisstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"postrider/subscriptions"
)

// What one publish script takes when it serves several requests. A request that is larger by itself goes alone.
const (
	batchMessages = 200
	batchBytes    = 1_000_000
)

// publishTimeout bounds a publish on its own, since its requests' contexts may end at different times.
const publishTimeout = 30 * time.Second

// batches merges publishes. While a topic's batch is on its way, later requests queue up and then go together; an idle
// topic's request goes at once, and no goroutine or entry stays behind. When what has queued up is a whole batch by itself,
// it need not wait: nothing would be merged by that, and Redis can begin with it while we read the answer to the one before.
type batches struct {
	send func(context.Context, subscriptions.TopicRef, []*request) ([]subscriptions.MessageID, error)

	mu     sync.Mutex
	queues map[string]*queue // by the topic's UID, while a batch is on its way
	closed bool
	wait   sync.WaitGroup
}

// underWay is how many batches of a topic may be on their way: one at Redis, and one that it finds when it is done.
const underWay = 2

type queue struct {
	pending        []*request
	messages, size int // of pending
	senders        int // goroutines that send, each a batch at a time
}

// whole tells whether what waits fills a batch.
func (q *queue) whole() bool { return q.messages >= batchMessages || q.size >= batchBytes }

// request is what one caller publishes, encoded by itself: while a batch is encoded, Redis would have nothing to do.
type request struct {
	topic   subscriptions.TopicRef
	entries []any
	delayed []bool // of each message, whether it is; nil when none is
	size    int
	done    chan published // holds one answer
}

func (r *request) count() int { return len(r.entries) / 2 }

type published struct {
	ids []subscriptions.MessageID
	err error
}

func newRequest(topic subscriptions.TopicRef, msgs []subscriptions.Message) *request {
	r := &request{topic: topic, entries: entries(msgs), done: make(chan published, 1)}
	for i, m := range msgs {
		r.size += m.Size()
		if m.Timing.IsDelayed() {
			if r.delayed == nil {
				r.delayed = make([]bool, len(msgs))
			}
			r.delayed[i] = true
		}
	}
	return r
}

// publish answers once Redis has answered, or ctx ends. A request that has not left yet is then taken back; one that is on
// its way may still be published.
func (b *batches) publish(
	ctx context.Context, topic subscriptions.TopicRef, msgs []subscriptions.Message,
) ([]subscriptions.MessageID, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed(ctx, "publish", err)
	}
	r := newRequest(topic, msgs)
	if !b.add(r) {
		return nil, errClosed()
	}
	select {
	case p := <-r.done:
		return p.ids, p.err
	case <-ctx.Done():
		b.takeBack(r)
		return nil, failed(ctx, "publish", ctx.Err())
	}
}

func (b *batches) add(r *request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	q := b.queues[r.topic.UID]
	if q == nil {
		q = &queue{}
		b.queues[r.topic.UID] = q
	}
	q.pending = append(q.pending, r)
	q.messages, q.size = q.messages+r.count(), q.size+r.size
	if q.senders == 0 || q.senders < underWay && q.whole() {
		q.senders++
		b.wait.Go(func() { b.drain(r.topic.UID, q) })
	}
	return true
}

func (b *batches) takeBack(r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q := b.queues[r.topic.UID]; q != nil {
		if i := slices.Index(q.pending, r); i >= 0 {
			q.remove(i, i+1)
		}
	}
}

// remove takes requests out of the queue.
func (q *queue) remove(from, to int) []*request {
	out := slices.Clone(q.pending[from:to])
	q.pending = slices.Delete(q.pending, from, to)
	for _, r := range out {
		q.messages, q.size = q.messages-r.count(), q.size-r.size
	}
	return out
}

// drain sends a topic's batches one after the other until there is none for it.
func (b *batches) drain(uid string, q *queue) {
	for {
		batch := b.next(uid, q)
		if batch == nil {
			return
		}
		b.sendBatch(batch)
	}
}

// next takes the requests that go together: those of one revision, from the oldest on, up to the bounds. There are none for
// the second sender of a topic unless they are a whole batch: the first one will take them, with what comes until then.
func (b *batches) next(uid string, q *queue) []*request {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(q.pending) == 0 || q.senders > 1 && !q.whole() {
		if q.senders--; q.senders == 0 {
			delete(b.queues, uid)
		}
		return nil
	}
	n, count, size := 0, 0, 0
	for _, r := range q.pending {
		count += r.count()
		size += r.size
		if n > 0 && (r.topic != q.pending[0].topic || count > batchMessages || size > batchBytes) {
			break
		}
		n++
	}
	return q.remove(0, n)
}

func (b *batches) sendBatch(batch []*request) {
	ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
	defer cancel()
	ids, err := b.send(ctx, batch[0].topic, batch)
	for _, r := range batch {
		if err != nil {
			r.done <- published{err: err}
			continue
		}
		n := r.count()
		r.done <- published{ids: ids[:n:n]}
		ids = ids[n:]
	}
}

// close refuses new requests and waits for those under way.
func (b *batches) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wait.Wait()
}
