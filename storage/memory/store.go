// Package memory is the store that keeps everything in this process: for trying Postrider, for tests, and as the executable
// specification of [subscriptions.Store], which storage/redisstream must equal step by step.
//
// One mutex, one method = one atomic step. It starts no goroutine and no timer, and reads the time once a step, in whole
// milliseconds, from the function it was given; so it runs inside testing/synctest, and random operations can be run against
// it and Redis side by side.
//
// What the steps of a subscription do is in lease.go, settle.go and sweep.go; what they act on, in state.go.
package memory

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"postrider/subscriptions"
)

// stepMax bounds how many entries of a subscription one step looks at and how many messages it returns, as in Redis, where
// a longer script would hold up everybody else.
const stepMax = 200

// Options are what a store takes from outside.
type Options struct {
	// Now is the store's clock; time.Now by default.
	Now func() time.Time
	// Salt makes the random part of a batch's message ids, 0 to 9,999; math/rand by default.
	Salt func() int64
}

// Store implements subscriptions.Store.
type Store struct {
	options Options

	mu  sync.Mutex
	now int64 // the time of the step that holds mu, in milliseconds

	topicRecords        table[subscriptions.Topic]
	subscriptionRecords table[subscriptions.Subscription]
	snapshotRecords     table[subscriptions.Snapshot]
	operationRecords    table[subscriptions.Operation]
	feed                feed
	slots               map[string]*slot // by the topic's UID; closed ones stay, so that none is opened again
	watch               watch
	findings            findings
	signingKeys         string
}

var _ subscriptions.Store = (*Store)(nil)

// New makes an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Salt == nil {
		o.Salt = func() int64 { return rand.Int64N(10_000) }
	}
	return &Store{
		options:             o,
		topicRecords:        newTable("topic", topicStamp),
		subscriptionRecords: newTable("subscription", subscriptionStamp),
		snapshotRecords:     newTable("snapshot", snapshotStamp),
		operationRecords:    newTable("operation", operationStamp),
		feed:                feed{life: strconv.FormatUint(rand.Uint64(), 36), servers: map[string]int64{}},
		slots:               map[string]*slot{},
		watch:               watch{watchers: map[string][]*watcher{}},
		findings:            findings{shared: map[string]sharedFinding{}},
	}
}

// begin starts a step; end finishes it. Wake-ups that the step caused are delivered after the mutex is released, since a
// watcher may call the store.
func (s *Store) begin() {
	s.mu.Lock()
	s.now = s.options.Now().UnixMilli()
}

func (s *Store) end() {
	s.mu.Unlock()
	s.deliverWakes()
}

// millis is d in whole milliseconds, rounded up: what is to last d never ends before.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// timeOf is a time that is shown.
func timeOf(milli int64) time.Time { return time.UnixMilli(milli).UTC() }

// until is how long it is from now to at, 0 when that has passed.
func until(now, at int64) time.Duration {
	return time.Duration(max(at-now, 0)) * time.Millisecond
}
