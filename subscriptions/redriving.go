package subscriptions

import (
	"context"
	"time"
)

// RedriveLetter is a dead letter on its way back.
type RedriveLetter struct {
	// Message is what the source gets, with the id that it had there.
	Message Message
	// Place is the id of its place in the source's log, if that was another one.
	Place MessageID
	// Topic is the UID of the dead-letter topic, and ID what the letter has there:
	// together they name it.
	Topic string
	ID    MessageID
}

// PlaceID is the id of the letter's place in the source's log.
func (l RedriveLetter) PlaceID() MessageID {
	if l.Place.IsZero() {
		return l.Message.ID
	}
	return l.Place
}

// RedriveRequest puts dead letters back into the subscription of Ref.
type RedriveRequest struct {
	Ref
	Rules Rules
	// KeepLeases takes no lease away for the sake of order.
	KeepLeases bool
	Letters    []RedriveLetter
}

// RedriveFate is what became of a letter.
type RedriveFate int8

const (
	// RedriveThere: it is unacked in the subscription, or was since it was put back.
	RedriveThere RedriveFate = iota + 1
	// RedriveBusy: it cannot be put back now, since it is still being moved to the
	// dead-letter topic, or something in front of which it belongs is, or is leased
	// and KeepLeases forbids to take that away.
	RedriveBusy
	// RedriveFull: as many messages are outstanding as may be.
	RedriveFull
)

// RemoveRequest takes messages from a subscription.
type RemoveRequest struct {
	Ref
	Rules Rules
	// Receipts name them. Only their ID and Key matter.
	Receipts []Receipt
}

// RemoveFate is what became of a message that was to be removed.
type RemoveFate int8

const (
	// RemoveTaken: this step removed it, and so no other did.
	RemoveTaken RemoveFate = iota + 1
	// RemoveGone: it is not there, or not any more.
	RemoveGone
	// RemoveLeft: it cannot be removed, and stays.
	RemoveLeft
)

// Redrives move dead letters back in steps of which each may be repeated: Redrive
// at the source, Remove at the subscription of the dead-letter topic,
// ForgetRedriven at the source. A crash between any two leaves the message in at
// least one place, and a repeated Redrive adds no second copy.
type Redrives interface {
	// Redrive puts those of the letters back that the topic has not taken yet: due
	// at once, with a delivery number that is higher than any before and no attempt
	// spent. They need not be in the log. With order kept each stands before the
	// later messages of its key, and what of these is leased comes again after it.
	// The retention counts from now. A message that is unacked already is left as it
	// is. RESOURCE_EXHAUSTED when the store is full.
	Redrive(context.Context, RedriveRequest) ([]RedriveFate, error)
	// ForgetRedriven lets a topic forget after a while that it took these letters,
	// once they are removed where they came from.
	ForgetRedriven(ctx context.Context, topic string, letters []RedriveLetter, after time.Duration) error
	// Remove acks messages whatever their state, also before earlier ones of their
	// key and ahead of the cursor. RemoveLeft are those that their key left in the
	// log.
	Remove(context.Context, RemoveRequest) ([]RemoveFate, error)
	// Discard removes messages from the log of a topic that has neither
	// subscriptions nor snapshots; with one of these all are RemoveLeft. ErrGone.
	Discard(ctx context.Context, topic string, ids []MessageID) ([]RemoveFate, error)
}
