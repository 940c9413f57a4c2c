package subscriptions

import (
	"context"
	"time"
)

// OperationName names an operation.
type OperationName struct{ Project, ID string }

func (n OperationName) String() string { return "projects/" + n.Project + "/operations/" + n.ID }

// Validate fails with INVALID_ARGUMENT unless both parts are legal.
func (n OperationName) Validate() error { return validateParts(n.Project, "operation", n.ID) }

// OperationKind is what an operation does.
type OperationKind string

// The kinds.
const (
	// RedriveKind moves dead letters back to the subscriptions they came from.
	RedriveKind OperationKind = "REDRIVE"
	// PurgeKind drops dead letters.
	PurgeKind OperationKind = "PURGE"
)

// Operation is long work on dead letters. Its record is in the store: whatever
// server owns it goes on with it, after the death of another, too.
type Operation struct {
	// Name is unset in the answer to a dry run, which is no operation.
	Name OperationName
	UID  string
	Kind OperationKind
	// Query says which dead letters; its Holder is the subscription of Topic from
	// which they are taken, unset where Topic has none.
	Query DeadLetterQuery
	// Topic is the dead-letter topic.
	Topic TopicName
	// PerSecond is how many are moved a second; 0 is as many as can be.
	PerSecond float64
	// ToFirst says that they are redriven to the subscription that each died at first.
	ToFirst bool

	Progress OperationProgress
	// NotFound are those of the Query's IDs that named nothing to move when it began,
	// in the order in which they were asked for. Total counts the others.
	NotFound []MessageID
	// CancelRequested asks it to end; what was moved until then stays so.
	CancelRequested bool
	// Done says that it has ended. Then Failure is why it did before its end, if it
	// did: CANCELLED when that was asked for.
	Done    bool
	Failure *Error
	// Created and Ended are times of the server that wrote them, for people to read.
	Created, Ended time.Time
	// Revision rises by one with every change of the record.
	Revision int64

	// Place is how far the dead letters were gone through, and Until is higher than
	// the id of every one that was there when it began: what dies later stays.
	Place PeekPlace
	Until MessageID
}

// OperationProgress is how far an operation has come. A server that dies leaves
// out of the numbers what it did in its last second.
type OperationProgress struct {
	// Total is how many dead letters were selected when it was counted, and AtLeast
	// says that there were more than are counted.
	Total   int64
	AtLeast bool
	// Moved were redriven, or purged, by this operation and no other.
	Moved int64
	// Gone were seen, and were not there any more when they were to be taken:
	// somebody else had taken them.
	Gone int64
	// Failed could not be redriven, and stay where they are. Reason says why the
	// last of them could not.
	Failed int64
	Reason string
	// Waiting is why it does not go on at the moment; empty while it does.
	Waiting string
}

// OperationCatalog keeps the records of operations, as TopicCatalog does those
// of topics.
type OperationCatalog interface {
	InsertOperation(context.Context, Operation) error
	Operation(context.Context, OperationName) (Operation, error)
	ReplaceOperation(ctx context.Context, o Operation) error
	RemoveOperation(ctx context.Context, name OperationName, uid string) error
	ListOperations(ctx context.Context, project, after string, limit int) ([]Operation, error)
}
