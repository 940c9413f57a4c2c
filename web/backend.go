package web

import (
	"context"

	"postrider/subscriptions"
)

// Backend is what the page is in front of: *subscriptions.Service.
type Backend interface {
	Surveys
	Resources
	Publisher
	Pushes
	Blocks
	Messages
	Operations
}

// Surveys tell how everything is.
type Surveys interface {
	// Overview returns all topics and subscriptions with their state. UNAVAILABLE.
	Overview(context.Context) (subscriptions.Overview, error)
	// Expiring returns the subscriptions that are deleted soon unless they are used, the first to go first. UNAVAILABLE.
	Expiring(context.Context) ([]subscriptions.Subscription, error)
	// History returns up to an hour of a subscription's past, oldest first. NOT_FOUND; FAILED_PRECONDITION when it is detached.
	History(context.Context, subscriptions.SubscriptionName) ([]subscriptions.Point, error)
}

// Resources are read one by one, as they are now.
type Resources interface {
	// GetTopic returns a topic. NOT_FOUND, INVALID_ARGUMENT.
	GetTopic(context.Context, subscriptions.TopicName) (subscriptions.Topic, error)
	// GetSubscription returns a subscription. NOT_FOUND, INVALID_ARGUMENT.
	GetSubscription(context.Context, subscriptions.SubscriptionName) (subscriptions.Subscription, error)
}

// Publisher takes test messages.
type Publisher interface {
	// Publish appends all messages or none, and returns their ids. NOT_FOUND, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE.
	Publish(context.Context, subscriptions.TopicName, []subscriptions.Message) ([]subscriptions.MessageID, error)
}

// Pushes explain and restart push delivery.
type Pushes interface {
	// Explain tells why nothing is pushed now. NOT_FOUND, INVALID_ARGUMENT.
	Explain(context.Context, subscriptions.SubscriptionName) (subscriptions.Explanation, error)
	// ClosePushBreaker tells whether the breaker was open. NOT_FOUND, FAILED_PRECONDITION.
	ClosePushBreaker(context.Context, subscriptions.SubscriptionName) (was bool, err error)
}

// Blocks are ordering keys that stand still.
type Blocks interface {
	// BlockedKeys lists them, the longest blocked first. NOT_FOUND, INVALID_ARGUMENT.
	BlockedKeys(context.Context, subscriptions.SubscriptionName, subscriptions.Page) ([]subscriptions.Block, string, error)
	// UnblockKey takes the message away that blocks a key. NOT_FOUND, ABORTED, FAILED_PRECONDITION, INVALID_ARGUMENT.
	UnblockKey(context.Context, subscriptions.SubscriptionName, subscriptions.Unblocking) error
}

// Messages are looked at without leasing them.
type Messages interface {
	// Peek lists what a subscription has not acked. A page may be empty and have a next one. NOT_FOUND, INVALID_ARGUMENT.
	Peek(context.Context, subscriptions.SubscriptionName, subscriptions.Page) ([]subscriptions.Peeked, string, error)
	// Delayed lists what is not due yet in a topic, the first to be due first, and counts it. NOT_FOUND, INVALID_ARGUMENT.
	Delayed(context.Context, subscriptions.TopicName, subscriptions.Page) (subscriptions.DelayedResult, string, error)
	// DeadLetters lists dead letters as Peek does messages. NOT_FOUND, FAILED_PRECONDITION, INVALID_ARGUMENT.
	DeadLetters(context.Context, subscriptions.DeadLetterQuery, subscriptions.Page) ([]subscriptions.DeadLetter, string, error)
}

// Operations are long work on dead letters.
type Operations interface {
	// Redrive begins to move dead letters back, and Purge to drop them; to validate only, they count them. NOT_FOUND,
	// FAILED_PRECONDITION, INVALID_ARGUMENT.
	Redrive(context.Context, subscriptions.DeadLetterWork) (subscriptions.Operation, error)
	Purge(context.Context, subscriptions.DeadLetterWork) (subscriptions.Operation, error)
	// GetOperation returns an operation. NOT_FOUND, INVALID_ARGUMENT.
	GetOperation(context.Context, subscriptions.OperationName) (subscriptions.Operation, error)
	// ListOperations lists those of a project, the newest first. INVALID_ARGUMENT.
	ListOperations(context.Context, string, subscriptions.Page) ([]subscriptions.Operation, string, error)
	// CancelOperation asks one to end. NOT_FOUND, INVALID_ARGUMENT.
	CancelOperation(context.Context, subscriptions.OperationName) (subscriptions.Operation, error)
}
