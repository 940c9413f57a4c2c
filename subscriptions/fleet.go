package subscriptions

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// beatEvery is the time between heartbeats and beatTTL how long a server
	// counts as alive after one, so that a killed server's subscriptions have
	// new owners within 5 s.
	beatEvery = time.Second
	beatTTL   = 3 * time.Second
	// rereadEvery is how often all records are read again although the feed
	// lost none: a change whose writer died before telling is found then.
	rereadEvery = time.Minute
	// halfMadeAge is how long a record may stay half-made before its owner
	// finishes it; whoever makes it is usually done in milliseconds.
	halfMadeAge = 5 * time.Second
)

// fleet knows every record and every living server, and from these what this
// server owns. Only run's goroutine writes, and what others read it writes under
// the mutex.
type fleet struct {
	s *Service

	mu            sync.Mutex
	topics        map[TopicName]Topic
	subscriptions map[SubscriptionName]Subscription
	snapshots     map[SnapshotName]Snapshot
	operations    map[OperationName]Operation
	live          []string
	owned         []Subscription
	watchers      map[*ownedWatcher]struct{}

	position string
	reread   time.Time
	halfMade []halfMade
	seen     map[string]time.Time // UID to when it was first seen half-made
	hint     chan struct{}        // a record changed: beat early
}

// halfMade is a record that is not active, and what finishes it.
type halfMade struct {
	uid    string
	name   fmt.Stringer
	finish func(context.Context) error
}

type ownedWatcher struct{ fn func([]Subscription) }

func newFleet(s *Service) *fleet {
	return &fleet{
		s:             s,
		topics:        map[TopicName]Topic{},
		subscriptions: map[SubscriptionName]Subscription{},
		snapshots:     map[SnapshotName]Snapshot{},
		operations:    map[OperationName]Operation{},
		watchers:      map[*ownedWatcher]struct{}{},
		seen:          map[string]time.Time{},
		hint:          make(chan struct{}, 1),
	}
}

// Owned calls fn now and with every change with the subscriptions that this
// server owns, active and attached. Calls come one after the other; fn must not
// block.
func (s *Service) Owned(fn func([]Subscription)) (stop func()) {
	f := s.fleet
	w := &ownedWatcher{fn}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers[w] = struct{}{}
	fn(f.owned)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, w)
	}
}

// others tells whether there are other servers, as far as is known.
func (f *fleet) others() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.live) > 1
}

// run beats until ctx ends, then leaves the fleet. The store being away is no
// reason to end: what was owned stays owned, and leases decide.
func (f *fleet) run(ctx context.Context) error {
	stop := f.watchCatalog(ctx)
	defer stop()
	failing := false
	for {
		err := f.beat(ctx)
		if (err != nil) != failing && ctx.Err() == nil {
			failing = err != nil
			f.s.log.Log(ctx, failLevel(failing), "heartbeat", "failing", failing, "error", err)
		}
		if !sleep(ctx, beatEvery, f.hint) {
			leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
			defer cancel()
			// A server that cannot say good-bye is missed after beatTTL.
			_ = f.s.store.Leave(leave, f.s.server)
			return nil
		}
	}
}

// watchCatalog lets a change of a record on any server hasten the next beat. It
// tries until the store is there or ctx ends.
func (f *fleet) watchCatalog(ctx context.Context) (stop func()) {
	for {
		stop, err := f.s.store.Watch(ctx, CatalogTopic, func(Wake) { signal(f.hint) })
		if err == nil {
			return stop
		}
		f.s.logFailure(ctx, "watch the catalog", "", err)
		if !sleep(ctx, beatEvery, nil) {
			return func() {}
		}
	}
}

// beat tells the others of this server and learns what changed.
func (f *fleet) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTTL)
	defer cancel()
	b, err := f.s.store.Beat(ctx, f.s.server, beatTTL, f.position)
	if err != nil {
		return err
	}
	changed := !slices.Equal(b.Live, f.live)
	if b.Lost || time.Now().After(f.reread) {
		if err := f.readAll(ctx); err != nil {
			return err
		}
		changed = true
		f.reread = time.Now().Add(rereadEvery*3/4 + rand.N(rereadEvery/2))
	} else if len(b.Changes) > 0 {
		if err := f.readChanged(ctx, b.Changes); err != nil {
			return err
		}
		changed = true
	}
	f.position = b.Position
	if changed {
		f.publishOwned(b.Live)
		f.findHalfMade()
	}
	f.finishHalfMade(ctx)
	return nil
}

// publishOwned works out what this server owns and tells who wants to know.
func (f *fleet) publishOwned(live []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = live
	owned := make([]Subscription, 0, len(f.owned))
	for _, sub := range f.subscriptions {
		if sub.Phase == Active && !sub.Detached && ownerOf(sub.UID, live) == f.s.server {
			owned = append(owned, sub)
		}
	}
	f.owned = owned
	f.s.sweeper.setOwned(owned, f.ownedTopics(live), f.ownedSnapshots(live), func(name TopicName) bool { return f.topics[name].Phase == Active })
	f.s.operator.setOwned(f.ownedOperations(live))
	for w := range f.watchers {
		w.fn(owned)
	}
}

func (f *fleet) ownedTopics(live []string) []string {
	var uids []string
	for _, t := range f.topics {
		if t.Phase == Active && ownerOf(t.UID, live) == f.s.server {
			uids = append(uids, t.UID)
		}
	}
	return uids
}

func (f *fleet) ownedSnapshots(live []string) []Snapshot {
	var owned []Snapshot
	for _, snap := range f.snapshots {
		if snap.Phase == Active && ownerOf(snap.UID, live) == f.s.server {
			owned = append(owned, snap)
		}
	}
	return owned
}

func (f *fleet) ownedOperations(live []string) []Operation {
	var owned []Operation
	for _, op := range f.operations {
		if ownerOf(op.UID, live) == f.s.server {
			owned = append(owned, op)
		}
	}
	return owned
}

// readChanged reads again the records that the feed named.
func (f *fleet) readChanged(ctx context.Context, changes []Change) error {
	topics, subs, snaps := map[TopicName]bool{}, map[SubscriptionName]bool{}, map[SnapshotName]bool{}
	for _, c := range changes {
		switch {
		case c.Topic != (TopicName{}):
			topics[c.Topic] = true
		case c.Snapshot != (SnapshotName{}):
			snaps[c.Snapshot] = true
		case c.Operation != (OperationName{}):
			if err := f.readOperation(ctx, c.Operation); err != nil {
				return err
			}
		default:
			subs[c.Subscription] = true
		}
	}
	for name := range topics {
		t, err := f.s.store.Topic(ctx, name)
		if err != nil && CodeOf(err) != NotFound {
			return err
		}
		f.locked(func() { setOrDelete(f.topics, name, t, err == nil) })
		f.s.directory.refreshTopic(name, t, err == nil)
	}
	for name := range subs {
		sub, err := f.s.store.Subscription(ctx, name)
		if err != nil && CodeOf(err) != NotFound {
			return err
		}
		f.locked(func() { setOrDelete(f.subscriptions, name, sub, err == nil) })
		f.s.directory.refreshSubscription(name, sub, err == nil)
	}
	for name := range snaps {
		snap, err := f.s.store.Snapshot(ctx, name)
		if err != nil && CodeOf(err) != NotFound {
			return err
		}
		f.locked(func() { setOrDelete(f.snapshots, name, snap, err == nil) })
	}
	return nil
}

func (f *fleet) readOperation(ctx context.Context, name OperationName) error {
	op, err := f.s.store.Operation(ctx, name)
	if err != nil && CodeOf(err) != NotFound {
		return err
	}
	f.locked(func() { setOrDelete(f.operations, name, op, err == nil) })
	return nil
}

// readAll reads every record of every project.
func (f *fleet) readAll(ctx context.Context) error {
	projects, err := f.s.store.Projects(ctx)
	if err != nil {
		return err
	}
	topics, subs, snaps := map[TopicName]Topic{}, map[SubscriptionName]Subscription{}, map[SnapshotName]Snapshot{}
	ops := map[OperationName]Operation{}
	for _, project := range projects {
		err := everyPage(func(after string) (int, string, error) {
			page, err := f.s.store.ListTopics(ctx, project, after, MaxPageSize)
			for _, t := range page {
				topics[t.Name], after = t, t.Name.ID
			}
			return len(page), after, err
		})
		if err != nil {
			return err
		}
		err = everyPage(func(after string) (int, string, error) {
			page, err := f.s.store.ListSubscriptions(ctx, project, after, MaxPageSize)
			for _, sub := range page {
				subs[sub.Name], after = sub, sub.Name.ID
			}
			return len(page), after, err
		})
		if err != nil {
			return err
		}
		err = everyPage(func(after string) (int, string, error) {
			page, err := f.s.store.ListSnapshots(ctx, project, after, MaxPageSize)
			for _, snap := range page {
				snaps[snap.Name], after = snap, snap.Name.ID
			}
			return len(page), after, err
		})
		if err != nil {
			return err
		}
		err = everyPage(func(after string) (int, string, error) {
			page, err := f.s.store.ListOperations(ctx, project, after, MaxPageSize)
			for _, op := range page {
				ops[op.Name], after = op, op.Name.ID
			}
			return len(page), after, err
		})
		if err != nil {
			return err
		}
	}
	f.locked(func() { f.topics, f.subscriptions, f.snapshots, f.operations = topics, subs, snaps, ops })
	f.s.directory.replace(topics, subs)
	return nil
}

func (f *fleet) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func everyPage(fetch func(after string) (n int, last string, err error)) error {
	for n, last := MaxPageSize, ""; n == MaxPageSize; {
		var err error
		if n, last, err = fetch(last); err != nil {
			return err
		}
	}
	return nil
}

// findHalfMade looks through all records, when something changed, so that the
// beats of an idle server need not.
func (f *fleet) findHalfMade() {
	f.halfMade = nil
	for _, t := range f.topics {
		if t.Phase != Active {
			f.halfMade = append(f.halfMade, halfMade{t.UID, t.Name, func(ctx context.Context) error {
				return f.s.settleTopic(ctx, t.Name)
			}})
		}
	}
	for _, sub := range f.subscriptions {
		if sub.Phase != Active {
			f.halfMade = append(f.halfMade, halfMade{sub.UID, sub.Name, func(ctx context.Context) error {
				return f.s.settleSubscription(ctx, sub.Name)
			}})
		}
	}
	for _, snap := range f.snapshots {
		if snap.Phase != Active {
			f.halfMade = append(f.halfMade, halfMade{snap.UID, snap.Name, func(ctx context.Context) error {
				return f.s.settleSnapshot(ctx, snap.Name)
			}})
		}
	}
}

// finishHalfMade completes what a server that died left half-made, if this
// server owns it and nobody has done so for a while.
func (f *fleet) finishHalfMade(ctx context.Context) {
	seen := map[string]time.Time{}
	for _, h := range f.halfMade {
		if ownerOf(h.uid, f.live) != f.s.server {
			continue
		}
		since, ok := f.seen[h.uid]
		if !ok {
			since = time.Now()
		}
		seen[h.uid] = since
		if time.Since(since) >= halfMadeAge {
			f.s.logFailure(ctx, "finish what is half-made", h.name.String(), ignoreTaken(h.finish(ctx)))
		}
	}
	f.seen = seen
}

// ignoreTaken drops the error that says that a resource is whole.
func ignoreTaken(err error) error {
	if CodeOf(err) == AlreadyExists {
		return nil
	}
	return err
}

func (s *Service) logFailure(ctx context.Context, what, name string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, what, "name", name, "error", err)
	}
}

func failLevel(failing bool) slog.Level {
	if failing {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
