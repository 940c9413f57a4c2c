package subscriptions

import (
	"context"
	"time"
)

// Block is an ordering key whose first outstanding message has failed, so that
// all later ones wait.
type Block struct {
	// Head is that message, by its last delivery, with what is kept of its failed
	// attempts.
	Head Delivery
	// Since is when an attempt of it failed for the first time, by the store's clock.
	Since time.Time
	State BlockState
	// Next is when the state changes by itself, by the store's clock; when that has
	// passed it may any moment.
	Next time.Time
	// Behind is how many messages of the key wait behind the head, besides those
	// ahead of the cursor.
	Behind int64
}

// BlockState is what becomes of a blocked key's head next.
type BlockState int8

const (
	// BlockTried: it is leased.
	BlockTried BlockState = iota + 1
	// BlockWaiting: it waits for its next attempt.
	BlockWaiting
	// BlockDead: it waits to be moved to the dead-letter topic.
	BlockDead
)

// BlockPlace is the place of a block in their list. The zero value is before the
// first one.
type BlockPlace struct {
	// Milli is when the key became blocked, by the store's clock in ms.
	Milli int64
	ID    MessageID
	Key   uint64
}

// BlocksRequest asks for blocked ordering keys.
type BlocksRequest struct {
	Ref
	// Key, unless 0, is the only key that is asked for.
	Key uint64
	// After is where the last page ended.
	After BlockPlace
	// Max bounds the answer; a store may return fewer.
	Max int
}

// BlocksResult is a page of blocked ordering keys.
type BlocksResult struct {
	Blocks []Block
	// More tells whether there may be another page, which begins after Next.
	More bool
	Next BlockPlace
}

// Blocks tells what stands in the way of ordering keys, and takes it away.
type Blocks interface {
	// Blocked lists keys by how long they are blocked, the longest first.
	Blocked(context.Context, BlocksRequest) (BlocksResult, error)
	// Seize makes a message that has no earlier one of its key before it dead, from
	// whatever state and whatever the delivery, and holds it: no sweep and no other
	// Seize gets it for hold. It tells whether it did; a message that is gone, not
	// the first, or held, it leaves alone. What is seized goes by Acknowledge or
	// SettleDead, or lives again once nobody holds it.
	Seize(ctx context.Context, ref Ref, r Receipt, hold time.Duration) (bool, error)
}
