package storagetest

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"postrider/subscriptions"
)

// Fixture is a store under test. No other test writes to what it keeps.
type Fixture struct {
	Store subscriptions.Store
	// Clock is the one the store reads.
	Clock *Clock
	// LogLength counts the messages that the log of a topic holds.
	LogLength func(topicUID string) int
	// Slack is how many messages more than are needed a log may hold: a store need not trim for each message that goes.
	Slack int
	// Vanish removes a message from the log behind the store's back.
	Vanish func(topicUID string, id subscriptions.MessageID)
}

// Factory makes a Fixture for one test. The store takes Salt for the random part of message ids.
type Factory func(*testing.T) Fixture

// Salt is the random part of message ids under test.
func Salt() int64 { return 4217 }

// Clock is a clock that stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that stands at the same time as every other.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// unique makes a name that no other case has.
func unique(prefix string) string {
	return prefix + strconv.FormatUint(rand.Uint64(), 36)
}
