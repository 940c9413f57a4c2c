package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"postrider/subscriptions"
)

// table keeps the records of one kind by project and id.
type table[R any] struct {
	kind    string // for messages
	stamp   func(R) stamp
	records map[string]map[string]R
}

// stamp is what a catalog must know of a record.
type stamp struct {
	name        fmt.Stringer
	project, id string
	uid         string
	revision    int64
	change      subscriptions.Change // names the record
}

func newTable[R any](kind string, stamp func(R) stamp) table[R] {
	return table[R]{kind: kind, stamp: stamp, records: map[string]map[string]R{}}
}

func topicStamp(t subscriptions.Topic) stamp {
	return stamp{t.Name, t.Name.Project, t.Name.ID, t.UID, t.Revision, subscriptions.Change{Topic: t.Name}}
}

func subscriptionStamp(s subscriptions.Subscription) stamp {
	return stamp{s.Name, s.Name.Project, s.Name.ID, s.UID, s.Revision, subscriptions.Change{Subscription: s.Name}}
}

func snapshotStamp(s subscriptions.Snapshot) stamp {
	return stamp{s.Name, s.Name.Project, s.Name.ID, s.UID, s.Revision, subscriptions.Change{Snapshot: s.Name}}
}

// wrote is what every write to the catalog ends with.
func (s *Store) wrote(c subscriptions.Change) {
	s.feed.add(c)
	s.wake(subscriptions.CatalogTopic, subscriptions.Wake{Kind: subscriptions.Published})
}

// put stores a copy of r in its place.
func (t table[R]) put(s *Store, r R, as stamp) {
	if t.records[as.project] == nil {
		t.records[as.project] = map[string]R{}
	}
	t.records[as.project][as.id] = clone(r)
	s.wrote(as.change)
}

func insert[R any](s *Store, t table[R], r R) error {
	s.begin()
	defer s.end()
	as := t.stamp(r)
	if _, ok := t.records[as.project][as.id]; ok {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the %s %s exists already", t.kind, as.name)
	}
	t.put(s, r, as)
	return nil
}

func read[R any](s *Store, t table[R], project, id string, name fmt.Stringer) (R, error) {
	s.begin()
	defer s.end()
	r, ok := t.records[project][id]
	if !ok {
		return r, subscriptions.Errorf(subscriptions.NotFound, "there is no %s %s", t.kind, name)
	}
	return clone(r), nil
}

func replace[R any](s *Store, t table[R], r R) error {
	s.begin()
	defer s.end()
	as := t.stamp(r)
	old, ok := t.records[as.project][as.id]
	if was := t.stamp(old); !ok || was.uid != as.uid || was.revision != as.revision-1 {
		return subscriptions.Errorf(subscriptions.Aborted, "the %s %s was changed by another request", t.kind, as.name)
	}
	t.put(s, r, as)
	return nil
}

func remove[R any](s *Store, t table[R], project, id, uid string) error {
	s.begin()
	defer s.end()
	r, ok := t.records[project][id]
	if as := t.stamp(r); ok && as.uid == uid {
		delete(t.records[project], id)
		s.wrote(as.change)
	}
	return nil
}

// list returns copies of up to limit records of a project whose id is greater than after, in order of id.
func list[R any](s *Store, t table[R], project, after string, limit int) ([]R, error) {
	s.begin()
	defer s.end()
	var records []R
	for _, id := range slices.Sorted(maps.Keys(t.records[project])) {
		if len(records) == limit {
			break
		}
		if id > after {
			records = append(records, clone(t.records[project][id]))
		}
	}
	return records, nil
}

// InsertTopic implements subscriptions.TopicCatalog.
func (s *Store) InsertTopic(_ context.Context, t subscriptions.Topic) error {
	return insert(s, s.topicRecords, t)
}

// Topic implements subscriptions.TopicCatalog.
func (s *Store) Topic(_ context.Context, name subscriptions.TopicName) (subscriptions.Topic, error) {
	return read(s, s.topicRecords, name.Project, name.ID, name)
}

// ReplaceTopic implements subscriptions.TopicCatalog.
func (s *Store) ReplaceTopic(_ context.Context, t subscriptions.Topic) error {
	return replace(s, s.topicRecords, t)
}

// RemoveTopic implements subscriptions.TopicCatalog.
func (s *Store) RemoveTopic(_ context.Context, name subscriptions.TopicName, uid string) error {
	return remove(s, s.topicRecords, name.Project, name.ID, uid)
}

// ListTopics implements subscriptions.TopicCatalog.
func (s *Store) ListTopics(_ context.Context, project, after string, limit int) ([]subscriptions.Topic, error) {
	return list(s, s.topicRecords, project, after, limit)
}

// InsertSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) InsertSubscription(_ context.Context, sub subscriptions.Subscription) error {
	return insert(s, s.subscriptionRecords, sub)
}

// Subscription implements subscriptions.SubscriptionCatalog.
func (s *Store) Subscription(_ context.Context, name subscriptions.SubscriptionName) (subscriptions.Subscription, error) {
	return read(s, s.subscriptionRecords, name.Project, name.ID, name)
}

// ReplaceSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) ReplaceSubscription(_ context.Context, sub subscriptions.Subscription) error {
	return replace(s, s.subscriptionRecords, sub)
}

// RemoveSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) RemoveSubscription(_ context.Context, name subscriptions.SubscriptionName, uid string) error {
	return remove(s, s.subscriptionRecords, name.Project, name.ID, uid)
}

// ListSubscriptions implements subscriptions.SubscriptionCatalog.
func (s *Store) ListSubscriptions(_ context.Context, project, after string, limit int) ([]subscriptions.Subscription, error) {
	return list(s, s.subscriptionRecords, project, after, limit)
}

// InsertSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) InsertSnapshot(_ context.Context, snap subscriptions.Snapshot) error {
	return insert(s, s.snapshotRecords, snap)
}

// Snapshot implements subscriptions.SnapshotCatalog.
func (s *Store) Snapshot(_ context.Context, name subscriptions.SnapshotName) (subscriptions.Snapshot, error) {
	return read(s, s.snapshotRecords, name.Project, name.ID, name)
}

// ReplaceSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) ReplaceSnapshot(_ context.Context, snap subscriptions.Snapshot) error {
	return replace(s, s.snapshotRecords, snap)
}

// RemoveSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) RemoveSnapshot(_ context.Context, name subscriptions.SnapshotName, uid string) error {
	return remove(s, s.snapshotRecords, name.Project, name.ID, uid)
}

// ListSnapshots implements subscriptions.SnapshotCatalog.
func (s *Store) ListSnapshots(_ context.Context, project, after string, limit int) ([]subscriptions.Snapshot, error) {
	return list(s, s.snapshotRecords, project, after, limit)
}
