package subscriptions

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Overview is every topic and every subscription with its state as of some
// seconds ago. It is the same whatever server is asked, and costs nothing that
// grows with the backlog.
type Overview struct {
	// At is the store's time, to which ages and rates belong.
	At time.Time
	// Servers are those that live, sorted.
	Servers []string
	// Topics and Subscriptions are in order of project and id. A topic that
	// was deleted is not there; its subscriptions are.
	Topics        []TopicReport
	Subscriptions []SubscriptionReport
	Store         StoreReport
}

// TopicReport is a topic in an Overview.
type TopicReport struct {
	Topic Topic
	// Owner is whose the topic is, for people: its label OwnerLabel.
	Owner string
	// Published and PublishedBytes count what was ever published, dead letters
	// included.
	Published, PublishedBytes int64
	// In is how many messages a second were published over about the last minute.
	In float64
	// Log is how many messages are stored, acked ones that are not cut off yet
	// included.
	Log int64
	// Delayed is how many messages are not due yet, and in no backlog.
	Delayed int64
	// Subscriptions are the names of those attached, sorted.
	Subscriptions []SubscriptionName
	// Sources are the subscriptions whose dead letters come here, sorted: with
	// any, this is a dead-letter topic.
	Sources []SubscriptionName
	// DeadLetters is how many messages a dead-letter topic holds: the backlog of
	// the subscription that has the most, or what is stored without any. 0 for
	// other topics.
	DeadLetters int64
	// Measured is when the counts were read; zero while they never were.
	Measured time.Time
}

// SubscriptionReport is a subscription in an Overview.
type SubscriptionReport struct {
	Subscription Subscription
	// Owner is whose the subscription is, for people: its label OwnerLabel, or
	// else that of its topic.
	Owner string
	// Server is the one that pushes and sweeps for the subscription; empty if
	// none is known.
	Server  string
	Stats   Stats
	Breaker Breaker
	// Push is what the owner said last of its pushes, which it does when some are
	// refused, with the newest refusal alone; of zero if that is an hour ago, and
	// without times to wait for if another server pushes by now.
	Push PushReport
	// Blocked are the ordering keys that wait for a message which failed.
	Blocked BlockedKeys
	// In and Out are messages a second over about the last minute: what came for
	// this subscription, and what left it by being acked or by becoming a dead
	// letter.
	In, Out float64
	// Buried is how many messages became dead letters in the last BuriedWindow, or
	// fewer: not all of its minutes are known where there was something in each.
	Buried int64
	// Drains is when the backlog will be empty at these rates: 0 when it is,
	// negative for never.
	Drains time.Duration
	// Recent is the backlog at the end of each of the last RecentPoints minutes,
	// oldest first; the last one is now. It is shorter where less is known.
	Recent []int64
	// Measured is when the counts were read; zero while they never were. They
	// are read again when something happens to the subscription.
	Measured time.Time
}

// Backlog is how many messages are not acked.
func (s Stats) Backlog() int64 { return s.Undelivered + s.Outstanding }

// BuriedWindow is what SubscriptionReport.Buried is taken over.
const BuriedWindow = 5 * time.Minute

// RecentPoints bounds SubscriptionReport.Recent.
const RecentPoints = 60

// OwnerLabel is the label of a topic or a subscription that says whose it is.
const OwnerLabel = "owner"

// StoreReport says how a store is. What it does not tell is zero.
type StoreReport struct {
	// Kind is "memory" or "redis".
	Kind  string
	Nodes []NodeReport
}

// NodeReport is one server of a store that holds messages.
type NodeReport struct {
	Address string
	// Used and Max are bytes of memory; Max is 0 where there is no bound.
	Used, Max int64
	// Persistent means that a restart loses nothing that was answered, or at most
	// the last second of it.
	Persistent bool
	// Latency is how long it took to answer.
	Latency time.Duration
}

// Point is the state of a subscription at the end of a minute, or now.
type Point struct {
	At time.Time
	// These are as in Stats.
	Undelivered, Outstanding, Dead, Parked, Bytes int64
	OldestAge                                     time.Duration
	// In and Out are messages a second since the point before, as in
	// SubscriptionReport; 0 in the first one.
	In, Out float64
	// These are counted since the point before.
	Acked, Nacked, Expired, Dropped, DeadLettered, Filtered int64
}

// HistoryLength is how far back a History goes.
const HistoryLength = time.Hour

// Overview returns all topics and subscriptions with their state. It needs a
// Service that Runs. What it returns is shared: nobody may change it.
// UNAVAILABLE.
func (s *Service) Overview(ctx context.Context) (Overview, error) {
	if err := s.surveyor.look(ctx, lookAge); err != nil {
		return Overview{}, err
	}
	return s.surveyor.overview(ctx)
}

// History returns up to an hour of a subscription's past, oldest first: a point a
// minute, and the last one is now. It survives restarts and is the same whatever
// server is asked. NOT_FOUND; FAILED_PRECONDITION when it is detached.
func (s *Service) History(ctx context.Context, name SubscriptionName) (points []Point, err error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	err = s.directory.withSubscription(ctx, name, func(sub Subscription) error {
		if sub.Detached {
			return Errorf(FailedPrecondition, "%s is detached from its topic and has no backlog", name)
		}
		v, err := s.store.Survey(ctx, sub.TopicUID, []string{sub.UID})
		if err != nil {
			return err
		}
		if len(v.Subscriptions) == 0 || len(v.Subscriptions[0].Points) == 0 {
			return ErrGone
		}
		points = history(v.Subscriptions[0].Points)
		return nil
	})
	return points, err
}

// overview joins the records to what is known of their state. For a moment it
// is kept, since several readers often come together.
func (y *surveyor) overview(ctx context.Context) (Overview, error) {
	y.making.Lock()
	defer y.making.Unlock()
	if !y.madeAt.IsZero() && time.Since(y.madeAt) < lookAge {
		return y.made, nil
	}
	o := y.s.fleet.overview()
	var err error
	if o.Store, err = y.s.store.Report(ctx); err != nil {
		return Overview{}, err
	}
	y.mu.Lock()
	o.At = y.storeTime()
	backlogs := make(map[SubscriptionName]int64, len(o.Subscriptions))
	for i := range o.Subscriptions {
		r := &o.Subscriptions[i]
		if f := y.found[r.Subscription.UID]; f != nil && !r.Subscription.Detached {
			r.fill(f, o.At)
			backlogs[r.Subscription.Name] = r.Stats.Backlog()
		}
	}
	for i := range o.Topics {
		r := &o.Topics[i]
		if f := y.found[r.Topic.UID]; f != nil {
			r.fill(f, o.At, backlogs)
		}
	}
	y.mu.Unlock()
	y.made, y.madeAt = o, time.Now()
	return o, nil
}

// fill adds the state of a subscription.
func (r *SubscriptionReport) fill(f *Finding, now time.Time) {
	c := f.last()
	later := max(0, now.Sub(c.At))
	r.Measured, r.Stats, r.Breaker = c.At, c.Stats, f.Breaker
	r.Stats.OldestAge = aged(c.Stats, later)
	r.Stats.UpperBound = r.Subscription.selects() && c.Stats.Undelivered > 0
	if r.Breaker.Open {
		r.Breaker.Since += later
		r.Breaker.Probe = max(0, r.Breaker.Probe-later)
	}
	r.Blocked = f.Blocked
	if f.Push.Said() && f.Push.Age+later < keepReport {
		r.Push = f.Push
		r.Push.Age += later
	}
	if r.Push.Server != r.Server { // the new owner asks the endpoint afresh
		r.Push.Backoff, r.Push.RetryAfter, r.Push.Paced = time.Time{}, time.Time{}, time.Time{}
	}
	r.In, r.Out = rate(f.Points, now, came), rate(f.Points, now, left)
	r.Buried = buried(f.Points, now)
	r.Drains = drains(c.Stats.Backlog(), r.In, r.Out)
	r.Recent = laterBacklogs(f.Backlog, now.Unix()/60-c.At.Unix()/60)
}

// fill adds the state of a topic. backlogs are those of all subscriptions.
func (r *TopicReport) fill(f *Finding, now time.Time, backlogs map[SubscriptionName]int64) {
	c := f.last()
	r.Measured, r.Published, r.PublishedBytes, r.Log, r.Delayed = c.At, c.Published, c.PublishedBytes, c.Log, c.Delayed
	r.In = rate(f.Points, now, came)
	if len(r.Sources) == 0 {
		return
	}
	if len(r.Subscriptions) == 0 {
		r.DeadLetters = r.Log
	}
	for _, name := range r.Subscriptions {
		r.DeadLetters = max(r.DeadLetters, backlogs[name])
	}
}

// overview is what is known of all records, without their state.
func (f *fleet) overview() Overview {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := Overview{Servers: slices.Clone(f.live)}
	byUID := map[string]*TopicReport{}
	for _, t := range f.topics {
		if t.Phase == Active {
			o.Topics = append(o.Topics, TopicReport{Topic: t, Owner: t.Labels[OwnerLabel]})
		}
	}
	slices.SortFunc(o.Topics, func(a, b TopicReport) int {
		return cmp.Or(cmp.Compare(a.Topic.Name.Project, b.Topic.Name.Project), cmp.Compare(a.Topic.Name.ID, b.Topic.Name.ID))
	})
	for i := range o.Topics {
		byUID[o.Topics[i].Topic.UID] = &o.Topics[i]
	}
	for _, sub := range f.subscriptions {
		if sub.Phase == Active {
			o.Subscriptions = append(o.Subscriptions, f.report(sub, byUID[sub.TopicUID]))
		}
	}
	slices.SortFunc(o.Subscriptions, func(a, b SubscriptionReport) int {
		x, y := a.Subscription.Name, b.Subscription.Name
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.ID, y.ID))
	})
	for i := range o.Subscriptions {
		sub := &o.Subscriptions[i].Subscription
		if t := byUID[sub.TopicUID]; t != nil && !sub.Detached {
			t.Subscriptions = append(t.Subscriptions, sub.Name)
		}
		if sub.DeadLetter == nil || sub.Detached {
			continue
		}
		if t, ok := f.topics[sub.DeadLetter.Topic]; ok && byUID[t.UID] != nil {
			byUID[t.UID].Sources = append(byUID[t.UID].Sources, sub.Name)
		}
	}
	return o
}

// report is a subscription without its state. t is its topic, nil once that was
// deleted. The caller holds the mutex.
func (f *fleet) report(sub Subscription, t *TopicReport) SubscriptionReport {
	r := SubscriptionReport{Subscription: sub, Owner: sub.Labels[OwnerLabel], Server: ownerOf(sub.UID, f.live)}
	r.Subscription.TopicDeleted = t == nil
	if t != nil {
		r.Subscription.TopicRetention = t.Topic.Retention
		r.Owner = cmp.Or(r.Owner, t.Owner)
	}
	return r
}
