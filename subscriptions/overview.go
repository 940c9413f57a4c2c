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
	// Topics and Subscriptions are in order of their names' texts. A topic that
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
	// In and Out are messages a second over about the last minute: what came for
	// this subscription, and what left it by being acked or by becoming a dead
	// letter.
	In, Out float64
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
// Service that Runs. UNAVAILABLE.
func (s *Service) Overview(ctx context.Context) (Overview, error) {
	o := s.fleet.overview()
	o.At = time.Now()
	for i := range o.Subscriptions {
		r := &o.Subscriptions[i]
		if r.Subscription.Detached {
			continue
		}
		stats, err := s.store.Stats(ctx, r.Subscription.Ref())
		if outdated(err) {
			continue // it changed a moment ago
		}
		if err != nil {
			return Overview{}, err
		}
		r.Stats, r.Measured, r.Recent = stats, o.At, []int64{stats.Backlog()}
		if stats.Backlog() > 0 {
			r.Drains = -1
		}
		if r.Breaker, err = s.store.Breaker(ctx, r.Subscription.Ref()); err != nil && !outdated(err) {
			return Overview{}, err
		}
	}
	return o, nil
}

// History returns up to an hour of a subscription's past, oldest first: a point a
// minute, and the last one is now. It survives restarts and is the same whatever
// server is asked. NOT_FOUND; FAILED_PRECONDITION when it is detached.
func (s *Service) History(ctx context.Context, name SubscriptionName) ([]Point, error) {
	stats, err := s.Stats(ctx, name)
	if err != nil {
		return nil, err
	}
	return []Point{{
		At: time.Now(), Undelivered: stats.Undelivered, Outstanding: stats.Outstanding, Dead: stats.Dead,
		Parked: stats.Parked, Bytes: stats.Bytes, OldestAge: stats.OldestAge,
	}}, nil
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
	slices.SortFunc(o.Topics, func(a, b TopicReport) int { return cmp.Compare(a.Topic.Name.String(), b.Topic.Name.String()) })
	for i := range o.Topics {
		byUID[o.Topics[i].Topic.UID] = &o.Topics[i]
	}
	for _, sub := range f.subscriptions {
		if sub.Phase == Active {
			o.Subscriptions = append(o.Subscriptions, f.report(sub, byUID[sub.TopicUID]))
		}
	}
	slices.SortFunc(o.Subscriptions, func(a, b SubscriptionReport) int {
		return cmp.Compare(a.Subscription.Name.String(), b.Subscription.Name.String())
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
