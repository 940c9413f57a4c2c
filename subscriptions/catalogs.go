package subscriptions

import "context"

// TopicCatalog keeps the records of topics. Each write also enters the Feed.
type TopicCatalog interface {
	// InsertTopic adds a record. ALREADY_EXISTS when the name has one, in
	// whatever phase.
	InsertTopic(context.Context, Topic) error
	// Topic returns a record in whatever phase. NOT_FOUND.
	Topic(context.Context, TopicName) (Topic, error)
	// ReplaceTopic puts t in place of the record of the same name and UID whose
	// revision is one lower. ABORTED when there is no such record.
	ReplaceTopic(ctx context.Context, t Topic) error
	// RemoveTopic removes the record if it still has this UID.
	RemoveTopic(ctx context.Context, name TopicName, uid string) error
	// ListTopics returns up to limit records of a project in order of id, in
	// whatever phase, whose id is greater than after.
	ListTopics(ctx context.Context, project, after string, limit int) ([]Topic, error)
}

// SubscriptionCatalog keeps the records of subscriptions, as TopicCatalog does
// those of topics.
type SubscriptionCatalog interface {
	InsertSubscription(context.Context, Subscription) error
	Subscription(context.Context, SubscriptionName) (Subscription, error)
	ReplaceSubscription(ctx context.Context, s Subscription) error
	RemoveSubscription(ctx context.Context, name SubscriptionName, uid string) error
	ListSubscriptions(ctx context.Context, project, after string, limit int) ([]Subscription, error)
}

// SnapshotCatalog keeps the records of snapshots, as TopicCatalog does those of
// topics.
type SnapshotCatalog interface {
	InsertSnapshot(context.Context, Snapshot) error
	Snapshot(context.Context, SnapshotName) (Snapshot, error)
	ReplaceSnapshot(ctx context.Context, s Snapshot) error
	RemoveSnapshot(ctx context.Context, name SnapshotName, uid string) error
	ListSnapshots(ctx context.Context, project, after string, limit int) ([]Snapshot, error)
}
