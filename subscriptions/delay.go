package subscriptions

import (
	"context"
	"time"
)

// Delays are the messages of a topic that are not due yet. They stand outside
// the log, so that they neither keep it from being trimmed nor belong to any
// subscription; when one is due, it is appended to the log and so published to
// what is attached then, whatever was attached before. A seek, a snapshot and
// the retention know a message from then on.
//
// Lease, Sweep, Seek and Stats append a bounded number of due messages before
// anything else; Attach appends all.
type Delays interface {
	// AppendDue appends a bounded number of due messages and tells when the next
	// is due: 0 when one is already, negative when none is left. A slot that is
	// closed or absent has none.
	AppendDue(ctx context.Context, topicUID string) (next time.Duration, err error)
	// Delayed lists messages in order of when they are due.
	Delayed(context.Context, DelayedRequest) (DelayedResult, error)
	// CancelDelayed drops messages that are not due yet, and returns those of ids
	// that it found, each once. Both return ErrGone for a slot that is closed or
	// absent.
	CancelDelayed(ctx context.Context, topicUID string, ids []MessageID) ([]MessageID, error)
}

// DelayedRequest asks for a page of a topic's delayed messages.
type DelayedRequest struct {
	// Topic is the topic's UID.
	Topic string
	// After is where an earlier page ended; zero is the beginning.
	After DelayedPlace
	// Max bounds the page; 0 asks for the sums alone. A store may return fewer.
	Max int
}

// DelayedPlace is a place in the list of delayed messages.
type DelayedPlace struct {
	Milli int64 // when the message is due
	ID    MessageID
}

// DelayedResult is a page of a topic's delayed messages.
type DelayedResult struct {
	Messages []DelayedMessage
	// More means that another page, after the last message of this one, would
	// find something.
	More bool
	// Count and Bytes are of all delayed messages, whatever page was asked for.
	Count, Bytes int64
}

// DelayedMessage is a message that is not due yet.
type DelayedMessage struct {
	// Message has no Data.
	Message Message
	// Due is when it will be published to the topic's subscriptions.
	Due time.Time
	// Bytes is the message's Size, with its data.
	Bytes int64
}

// place is where a page ends whose last message this is.
func (m DelayedMessage) place() DelayedPlace {
	return DelayedPlace{Milli: m.Due.UnixMilli(), ID: m.Message.ID}
}
