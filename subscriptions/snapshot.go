package subscriptions

import "time"

const (
	// SnapshotLife is how old a message gets at most that a snapshot holds.
	SnapshotLife = 7 * 24 * time.Hour
	// MinSnapshotLife is what must be left of it when a snapshot is taken.
	MinSnapshotLife = time.Hour
)

// SnapshotTooShort is the error for a snapshot that would last for so long.
func SnapshotTooShort(life time.Duration) error {
	return Errorf(FailedPrecondition, "the snapshot would expire after %s: it lasts 7 days less the age of the oldest unacknowledged message, and must last at least 1 hour",
		max(life, 0).Round(time.Second))
}

// Snapshot is the record of a snapshot.
type Snapshot struct {
	Name SnapshotName
	// UID names the snapshot in its topic's slot.
	UID string
	// Topic is the name of the subscription's topic when the snapshot was taken,
	// and TopicUID the topic.
	Topic    TopicName
	TopicUID string
	// TopicDeleted is not stored: it is found out when a record is read.
	TopicDeleted bool
	// Subscription is what it was taken of, and SubscriptionUID its state.
	Subscription    SubscriptionName
	SubscriptionUID string
	// Filter and Routing are those of the subscription.
	Filter  string
	Routing *Routing
	// Expires is when it goes, by the store's clock, and MaxExpires when it goes
	// at the latest.
	Expires, MaxExpires time.Time
	Labels              map[string]string
	Phase               Phase
	// Revision rises by one with every change of the record.
	Revision int64
}

// Ref addresses the snapshot in its topic's slot.
func (s Snapshot) Ref() SnapshotRef {
	return SnapshotRef{Topic: s.TopicUID, Snapshot: s.UID, Revision: s.Revision, Expires: s.Expires}
}
