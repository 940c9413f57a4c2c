package subscriptions

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// slowSweep is how often, give or take a quarter, every owned subscription
	// and topic is swept although nothing calls for it: for retention and
	// expiration. At 10,000 subscriptions that is 17 steps a second.
	slowSweep = 10 * time.Minute
	// topicGrace is how long a dead-letter topic that was missing is there before
	// dead letters are moved to it: whoever created it may subscribe to it next, and
	// subscriptions get what comes after them.
	topicGrace = 5 * time.Second
	// sweepRetry is the wait after a failed sweep.
	sweepRetry = 5 * time.Second
	// sweepWorkers bounds the sweeps under way at once.
	sweepWorkers = 8
)

// sweeper looks after what no caller does: it moves exhausted messages to their
// dead-letter topic and drops what has expired. A subscription with a
// dead-letter policy is swept when its next lease runs out, which the store's
// wake-ups tell; all else now and then. One timer serves all of them, so an
// idle subscription costs nothing.
type sweeper struct {
	s *Service

	mu      sync.Mutex
	entries map[string]*sweepEntry // by UID
	queue   sweepQueue
	changed chan struct{}
	regroup bool // what is owned has changed: look which topics to listen to

	// Only run's goroutine uses these. listens are the watched topics of owned
	// subscriptions with a dead-letter policy.
	listens map[string]func()
}

// sweepEntry is one subscription, one snapshot or, with neither, one topic.
type sweepEntry struct {
	uid   string
	sub   Subscription
	snap  Snapshot
	at    time.Time // when to sweep next; while running, if woken meanwhile
	index int       // in the queue; -1 while running
	// owned says that this server owns it, and promised of a topic that this server
	// looks after messages of it that are not due yet, owned or not.
	owned, promised bool
	// reviewed is the revision of sub under which waiting messages were last
	// looked through for ones that it calls dead.
	reviewed int64
}

func newSweeper(s *Service) *sweeper {
	return &sweeper{
		s: s, entries: map[string]*sweepEntry{},
		changed: make(chan struct{}, 1), listens: map[string]func(){},
	}
}

// setOwned replaces what this server sweeps. What is new is swept soon: a server
// that died may have left it something to do. exists tells whether there is a
// topic: what waited for one to move dead letters to is swept soon.
func (w *sweeper) setOwned(subs []Subscription, topics []string, snaps []Snapshot, exists func(TopicName) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.entries
	w.regroup = true
	w.entries = make(map[string]*sweepEntry, len(subs)+len(topics)+len(snaps))
	owned := make(map[string]bool, len(subs))
	for _, sub := range subs {
		w.keep(old, sub.UID, sub)
		if sub.DeadLetter != nil && w.s.warnings.lasts(deadLetterTopicMissing, sub.UID) && exists(sub.DeadLetter.Topic) {
			w.forward(w.entries[sub.UID], time.Now().Add(topicGrace))
		}
		owned[sub.UID] = true
	}
	w.s.warnings.keep(owned)
	for _, uid := range topics {
		w.keep(old, uid, Subscription{})
	}
	for _, snap := range snaps {
		w.keepSnapshot(old, snap)
	}
	for uid, e := range old {
		switch {
		case w.entries[uid] != nil:
		case e.promised:
			e.owned, w.entries[uid] = false, e
		case e.index >= 0:
			heap.Remove(&w.queue, e.index)
		}
	}
	signal(w.changed)
}

func (w *sweeper) keep(old map[string]*sweepEntry, uid string, sub Subscription) {
	e := old[uid]
	if e == nil {
		e = &sweepEntry{uid: uid, at: time.Now()}
		if sub.DeadLetter == nil {
			e.at = e.at.Add(firstSweep(sub))
		}
		heap.Push(&w.queue, e)
	} else if sub.Revision != e.sub.Revision && sub.DeadLetter != nil {
		w.forward(e, time.Now())
	}
	e.sub, e.owned = sub, true
	w.entries[uid] = e
}

// keepSnapshot is keep for a snapshot, which is looked at when it expires.
func (w *sweeper) keepSnapshot(old map[string]*sweepEntry, snap Snapshot) {
	e := old[snap.UID]
	if e == nil {
		e = &sweepEntry{uid: snap.UID, at: time.Now()}
		heap.Push(&w.queue, e)
	} else if snap.Revision != e.snap.Revision {
		w.forward(e, time.Now())
	}
	e.snap, e.owned = snap, true
	w.entries[snap.UID] = e
}

// forward brings an entry's next sweep forward. The caller holds the mutex.
func (w *sweeper) forward(e *sweepEntry, at time.Time) {
	if !e.at.IsZero() && !at.Before(e.at) {
		return
	}
	e.at = at
	if e.index >= 0 {
		heap.Fix(&w.queue, e.index)
	}
	if e.index == 0 {
		signal(w.changed)
	}
}

// run sweeps until ctx ends.
func (w *sweeper) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sweepWorkers)
	for {
		w.watchTopics(ctx)
		wait := w.startDue(ctx, g)
		if !sleep(ctx, wait, w.changed) {
			break
		}
	}
	err := g.Wait()
	for _, stop := range w.listens {
		stop()
	}
	return err
}

// startDue starts the sweeps that are due and returns the time until the next.
func (w *sweeper) startDue(ctx context.Context, g *errgroup.Group) time.Duration {
	for ctx.Err() == nil {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.mu.Unlock()
			return slowSweep
		}
		e := w.queue[0]
		if wait := time.Until(e.at); wait > 0 {
			w.mu.Unlock()
			return wait
		}
		heap.Pop(&w.queue)
		e.at = time.Time{}
		sub, snap, review := e.sub, e.snap, e.sub.DeadLetter != nil && e.reviewed != e.sub.Revision
		w.mu.Unlock()
		g.Go(func() error {
			if snap.UID != "" {
				w.finished(e, w.s.expireSnapshot(ctx, snap), true, 0)
				return nil
			}
			if sub.UID == "" {
				w.finishedTopic(e, w.sweepTopic(ctx, e.uid))
				return nil
			}
			next, whole := w.sweep(ctx, sub, review)
			w.finished(e, next, whole, sub.Revision)
			return nil
		})
	}
	return 0
}

// finished puts an entry back into the queue, unless it is no longer owned.
func (w *sweeper) finished(e *sweepEntry, next time.Duration, whole bool, revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.entries[e.uid] != e {
		return
	}
	if whole {
		e.reviewed = revision
	}
	if at := time.Now().Add(next); e.at.IsZero() || at.Before(e.at) {
		e.at = at
	}
	heap.Push(&w.queue, e)
	if e.index == 0 {
		signal(w.changed)
	}
}

// watchTopics listens to the topics of subscriptions with a dead-letter policy,
// and to no others. A topic that cannot be watched is tried again at the next
// round; its subscriptions are swept all the same.
func (w *sweeper) watchTopics(ctx context.Context) {
	wanted := map[string]bool{}
	w.mu.Lock()
	if !w.regroup {
		w.mu.Unlock()
		return
	}
	w.regroup = false
	for _, e := range w.entries {
		if e.sub.DeadLetter != nil {
			wanted[e.sub.TopicUID] = true
		}
	}
	w.mu.Unlock()
	for uid, stop := range w.listens {
		if !wanted[uid] {
			stop()
			delete(w.listens, uid)
		}
	}
	for uid := range wanted {
		if w.listens[uid] != nil {
			continue
		}
		stop, err := w.s.hub.listen(ctx, uid, func(wake Wake) { w.wake(uid, wake) })
		if err != nil {
			w.s.logFailure(ctx, "watch a topic for the sweep", uid, err)
			w.mu.Lock()
			w.regroup = true
			w.mu.Unlock()
			return
		}
		w.listens[uid] = stop
	}
}

// wake hears of what happens to a topic.
func (w *sweeper) wake(topic string, wake Wake) {
	if wake.Kind == Published || wake.Kind == Asked || wake.Kind == Reported {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.entries[wake.Subscription]; e != nil && e.sub.DeadLetter != nil {
		w.forward(e, time.Now().Add(wake.In))
	}
	if wake.Kind != Resync {
		return
	}
	for _, e := range w.entries {
		if e.sub.TopicUID == topic && e.sub.DeadLetter != nil {
			w.forward(e, time.Now())
		}
	}
}

// firstSweep is when to sweep a subscription or topic of which nothing presses:
// nobody knows how old its messages are, so soon for a short retention.
func firstSweep(sub Subscription) time.Duration {
	soon := slowDelay()
	if sub.Retention > 0 {
		soon = min(soon, sub.Retention/20+rand.N(sub.Retention/20))
	}
	return soon
}

func slowDelay() time.Duration { return slowSweep*3/4 + rand.N(slowSweep/2) }

// sweepQueue is a heap of entries by time.
type sweepQueue []*sweepEntry

func (q sweepQueue) Len() int           { return len(q) }
func (q sweepQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q sweepQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *sweepQueue) Push(x any) {
	e := x.(*sweepEntry)
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *sweepQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	e.index = -1
	return e
}
