package subscriptions

import "time"

// Phase says how far a resource's record is. A resource lives in two places,
// the catalog and its topic's slot, which no store can change in one step; the
// phase lets any server finish what another left half-made.
type Phase int8

const (
	// Creating: the name is taken, the slot may not be ready.
	Creating Phase = iota + 1
	// Active: usable.
	Active
	// Deleting: a tombstone. The name reads as absent; the slot may still hold state.
	Deleting
)

// Topic is the record of a topic.
type Topic struct {
	Name TopicName
	// UID tags the topic's slot. A topic that was deleted and created again has
	// another one.
	UID    string
	Labels map[string]string
	// Retention is how long every message is kept, acked or not and whoever is
	// subscribed, for seeks; 0 is not at all.
	Retention time.Duration
	Phase     Phase
	// Revision rises by one with every change of the record.
	Revision int64
}

// Ref addresses the topic's slot.
func (t Topic) Ref() TopicRef {
	return TopicRef{UID: t.UID, Revision: t.Revision, Retention: t.Retention}
}

// deadLetterRetention is how long dead letters are kept on a topic that has no
// subscription to hold them: the default retention of a subscription.
const deadLetterRetention = 7 * 24 * time.Hour
