package subscriptions

import (
	"context"
	"time"
)

// WakeKind says what happened to a topic.
type WakeKind int8

const (
	// Published: new messages.
	Published WakeKind = iota + 1
	// Due: an outstanding message of the subscription is due, or its first lease
	// runs out, earlier than was known, In from now. 0 also stands for "try now": a
	// freed place, a dead message. Without a subscription it is about a delayed
	// message of the topic.
	Due
	// Revised: the subscription's configuration changed or its state went.
	Revised
	// Asked: somebody wants to know how the pushes of the subscription go, and
	// Reported: its owner has said so. Neither makes anything due.
	Asked
	Reported
	// Resync: wake-ups may have been lost; look at everything once.
	Resync
)

// Wake is one wake-up.
type Wake struct {
	Kind WakeKind
	// Subscription is the UID; empty for Published, Resync and some that are Due.
	Subscription string
	In           time.Duration
}

// CatalogTopic is what to watch for changes of records, in place of a topic's
// UID: every write to the catalog wakes it with Published.
const CatalogTopic = ""

// Watcher tells a server what happens to a topic, on whatever server.
type Watcher interface {
	// Watch calls fn for each wake-up of the topic from before it returns until
	// stop. fn must not block. Wake-ups may be lost with a connection; Resync
	// follows when it is back.
	Watch(ctx context.Context, topicUID string, fn func(Wake)) (stop func(), err error)
}
