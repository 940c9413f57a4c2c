package memory

import (
	"context"
	"maps"
	"slices"

	"postrider/subscriptions"
)

// table keeps records by project and id.
type table[R any] map[string]map[string]R

// list returns copies of up to limit records of a project whose id is greater than after, in order of id.
func (t table[R]) list(project, after string, limit int) []R {
	var records []R
	for _, id := range slices.Sorted(maps.Keys(t[project])) {
		if len(records) == limit {
			break
		}
		if id > after {
			records = append(records, clone(t[project][id]))
		}
	}
	return records
}

func (t table[R]) put(project, id string, r R) {
	if t[project] == nil {
		t[project] = map[string]R{}
	}
	t[project][id] = clone(r)
}

// wrote is what every write to the catalog ends with.
func (s *Store) wrote(c subscriptions.Change) {
	s.feed.add(c)
	s.wake(subscriptions.CatalogTopic, subscriptions.Wake{Kind: subscriptions.Published})
}

// InsertTopic implements subscriptions.TopicCatalog.
func (s *Store) InsertTopic(_ context.Context, t subscriptions.Topic) error {
	s.begin()
	defer s.end()
	if _, ok := s.topicRecords[t.Name.Project][t.Name.ID]; ok {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the topic %s exists already", t.Name)
	}
	s.topicRecords.put(t.Name.Project, t.Name.ID, t)
	s.wrote(subscriptions.Change{Topic: t.Name})
	return nil
}

// Topic implements subscriptions.TopicCatalog.
func (s *Store) Topic(_ context.Context, name subscriptions.TopicName) (subscriptions.Topic, error) {
	s.begin()
	defer s.end()
	t, ok := s.topicRecords[name.Project][name.ID]
	if !ok {
		return subscriptions.Topic{}, subscriptions.Errorf(subscriptions.NotFound, "there is no topic %s", name)
	}
	return clone(t), nil
}

// ReplaceTopic implements subscriptions.TopicCatalog.
func (s *Store) ReplaceTopic(_ context.Context, t subscriptions.Topic) error {
	s.begin()
	defer s.end()
	old, ok := s.topicRecords[t.Name.Project][t.Name.ID]
	if !ok || old.UID != t.UID || old.Revision != t.Revision-1 {
		return subscriptions.Errorf(subscriptions.Aborted, "the topic %s was changed by another request", t.Name)
	}
	s.topicRecords.put(t.Name.Project, t.Name.ID, t)
	s.wrote(subscriptions.Change{Topic: t.Name})
	return nil
}

// RemoveTopic implements subscriptions.TopicCatalog.
func (s *Store) RemoveTopic(_ context.Context, name subscriptions.TopicName, uid string) error {
	s.begin()
	defer s.end()
	if t, ok := s.topicRecords[name.Project][name.ID]; ok && t.UID == uid {
		delete(s.topicRecords[name.Project], name.ID)
		s.wrote(subscriptions.Change{Topic: name})
	}
	return nil
}

// ListTopics implements subscriptions.TopicCatalog.
func (s *Store) ListTopics(_ context.Context, project, after string, limit int) ([]subscriptions.Topic, error) {
	s.begin()
	defer s.end()
	return s.topicRecords.list(project, after, limit), nil
}

// InsertSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) InsertSubscription(_ context.Context, sub subscriptions.Subscription) error {
	s.begin()
	defer s.end()
	if _, ok := s.subscriptionRecords[sub.Name.Project][sub.Name.ID]; ok {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the subscription %s exists already", sub.Name)
	}
	s.subscriptionRecords.put(sub.Name.Project, sub.Name.ID, sub)
	s.wrote(subscriptions.Change{Subscription: sub.Name})
	return nil
}

// Subscription implements subscriptions.SubscriptionCatalog.
func (s *Store) Subscription(_ context.Context, name subscriptions.SubscriptionName) (subscriptions.Subscription, error) {
	s.begin()
	defer s.end()
	sub, ok := s.subscriptionRecords[name.Project][name.ID]
	if !ok {
		return subscriptions.Subscription{}, subscriptions.Errorf(subscriptions.NotFound, "there is no subscription %s", name)
	}
	return clone(sub), nil
}

// ReplaceSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) ReplaceSubscription(_ context.Context, sub subscriptions.Subscription) error {
	s.begin()
	defer s.end()
	old, ok := s.subscriptionRecords[sub.Name.Project][sub.Name.ID]
	if !ok || old.UID != sub.UID || old.Revision != sub.Revision-1 {
		return subscriptions.Errorf(subscriptions.Aborted, "the subscription %s was changed by another request", sub.Name)
	}
	s.subscriptionRecords.put(sub.Name.Project, sub.Name.ID, sub)
	s.wrote(subscriptions.Change{Subscription: sub.Name})
	return nil
}

// RemoveSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) RemoveSubscription(_ context.Context, name subscriptions.SubscriptionName, uid string) error {
	s.begin()
	defer s.end()
	if sub, ok := s.subscriptionRecords[name.Project][name.ID]; ok && sub.UID == uid {
		delete(s.subscriptionRecords[name.Project], name.ID)
		s.wrote(subscriptions.Change{Subscription: name})
	}
	return nil
}

// ListSubscriptions implements subscriptions.SubscriptionCatalog.
func (s *Store) ListSubscriptions(_ context.Context, project, after string, limit int) ([]subscriptions.Subscription, error) {
	s.begin()
	defer s.end()
	return s.subscriptionRecords.list(project, after, limit), nil
}

// InsertSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) InsertSnapshot(_ context.Context, snap subscriptions.Snapshot) error {
	s.begin()
	defer s.end()
	if _, ok := s.snapshotRecords[snap.Name.Project][snap.Name.ID]; ok {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the snapshot %s exists already", snap.Name)
	}
	s.snapshotRecords.put(snap.Name.Project, snap.Name.ID, snap)
	s.wrote(subscriptions.Change{Snapshot: snap.Name})
	return nil
}

// Snapshot implements subscriptions.SnapshotCatalog.
func (s *Store) Snapshot(_ context.Context, name subscriptions.SnapshotName) (subscriptions.Snapshot, error) {
	s.begin()
	defer s.end()
	snap, ok := s.snapshotRecords[name.Project][name.ID]
	if !ok {
		return subscriptions.Snapshot{}, subscriptions.Errorf(subscriptions.NotFound, "there is no snapshot %s", name)
	}
	return clone(snap), nil
}

// ReplaceSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) ReplaceSnapshot(_ context.Context, snap subscriptions.Snapshot) error {
	s.begin()
	defer s.end()
	old, ok := s.snapshotRecords[snap.Name.Project][snap.Name.ID]
	if !ok || old.UID != snap.UID || old.Revision != snap.Revision-1 {
		return subscriptions.Errorf(subscriptions.Aborted, "the snapshot %s was changed by another request", snap.Name)
	}
	s.snapshotRecords.put(snap.Name.Project, snap.Name.ID, snap)
	s.wrote(subscriptions.Change{Snapshot: snap.Name})
	return nil
}

// RemoveSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) RemoveSnapshot(_ context.Context, name subscriptions.SnapshotName, uid string) error {
	s.begin()
	defer s.end()
	if snap, ok := s.snapshotRecords[name.Project][name.ID]; ok && snap.UID == uid {
		delete(s.snapshotRecords[name.Project], name.ID)
		s.wrote(subscriptions.Change{Snapshot: name})
	}
	return nil
}

// ListSnapshots implements subscriptions.SnapshotCatalog.
func (s *Store) ListSnapshots(_ context.Context, project, after string, limit int) ([]subscriptions.Snapshot, error) {
	s.begin()
	defer s.end()
	return s.snapshotRecords.list(project, after, limit), nil
}
