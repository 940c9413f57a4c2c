package subscriptions

import (
	"context"
	"time"
)

// Store is what the Service asks of a store. Every method is one atomic step:
// it happens wholly or not at all, and steps on one topic never overlap. A
// store has no timers and starts nothing by itself; its clock decides
// everything, no server's does. Where a server is told of a time it is told a
// duration.
//
// Besides the errors each method names, all of them return UNAVAILABLE when the
// store cannot be reached, and methods that carry a Ref or TopicRef return
// ErrStale and ErrGone as described there. Checks come before the first write:
// a call that fails with any other error changed nothing.
type Store interface {
	TopicCatalog
	SubscriptionCatalog
	SnapshotCatalog
	OperationCatalog
	Feed
	Log
	Slots
	Leases
	Seeks
	Blocks
	Breakers
	PushReports
	Waits
	Surveys
	DeadLetters
	Peeks
	Delays
	Redrives
	KeyRing
	Watcher
}

// Change names a record that was written. Exactly one of the names is set.
type Change struct {
	Topic        TopicName
	Subscription SubscriptionName
	Snapshot     SnapshotName
	Operation    OperationName
}

// Beat is what a server learns with a heartbeat.
type Beat struct {
	// Live are the servers whose time has not run out, sorted, this one among them.
	Live []string
	// Changes are the records written since the position that was asked for,
	// oldest first. A name may come more than once.
	Changes []Change
	// Position is what to ask for next time.
	Position string
	// Lost means that changes may be missing (the position is empty, too old or
	// of another store's life): read all records again.
	Lost bool
}

// Feed tells servers of one another and of changed records.
type Feed interface {
	// Beat counts server among the living for ttl.
	Beat(ctx context.Context, server string, ttl time.Duration, position string) (Beat, error)
	// Leave takes server from the living at once.
	Leave(ctx context.Context, server string) error
	// Projects lists every project that has, or had, a record.
	Projects(context.Context) ([]string, error)
}

// TopicRef addresses a topic's slot. A call with a revision lower than the
// slot's fails with ErrStale; a higher one is adopted. ErrGone means that the
// slot was never opened, or was closed.
type TopicRef struct {
	UID      string
	Revision int64
	// Retention is how long the log keeps every message, whoever needs it; 0 is
	// not at all. It is adopted with the revision, and ends with the topic.
	Retention time.Duration
}

// Log is the log of a topic and what stands around it in the topic's slot.
type Log interface {
	// OpenTopic makes the slot ready for publishes and subscriptions. Again on
	// an open slot it only adopts the revision. It never opens a closed slot
	// again: ErrGone.
	OpenTopic(context.Context, TopicRef) error
	// CloseTopic lets nothing more be published or attached, and drops what is
	// delayed. What is attached
	// stays, and so do snapshots; when there is neither, the slot is emptied.
	// Once nothing is attached its log is emptied, too, since nobody can seek to a
	// snapshot. Closing a closed or an absent slot does nothing.
	CloseTopic(ctx context.Context, uid string) error
	// Publish appends all of msgs or none and returns their ids in order. With
	// nothing attached, no snapshot and no retention the messages get ids and are
	// dropped. Those that are not due yet are kept aside in any case: see Delays.
	// RESOURCE_EXHAUSTED when the store is full.
	Publish(ctx context.Context, topic TopicRef, msgs []Message) ([]MessageID, error)
	// Attached lists the names of attached subscriptions, sorted by their text.
	Attached(ctx context.Context, uid string) ([]SubscriptionName, error)
	// Trim cuts a bounded number of entries that nobody needs off the log and
	// tells whether more can be cut.
	Trim(ctx context.Context, uid string) (more bool, err error)
}

// Ref addresses the state of a subscription in its topic's slot. A call with a
// revision lower than the state's fails with ErrStale; a higher one is adopted
// and wakes who waits on the subscription. ErrGone means that there is no such
// state.
type Ref struct {
	Topic        string // the topic's UID
	Subscription string // the subscription's UID
	Revision     int64
	// Retain is how long the log keeps messages that the subscription acked; 0
	// is not at all. Attach, Revise and Sweep adopt it.
	Retain time.Duration
}

// Slots is the life of a subscription's state.
type Slots interface {
	// Attach makes the state, with its cursor after the last message published.
	// Where it exists it only adopts the revision. ErrGone when the topic is
	// closed, also where the state exists, or was never opened.
	Attach(ctx context.Context, ref Ref, name SubscriptionName) error
	// Revise adopts a higher revision. Like any step that does, it wakes who
	// waits on the subscription.
	Revise(context.Context, Ref) error
	// Drop removes the state with its backlog and wakes who waits on it. The
	// last one of a closed topic without snapshots empties the slot. Without state
	// it does nothing.
	Drop(ctx context.Context, topic, subscription string) error
	// Stats reads the counters of a subscription.
	Stats(context.Context, Ref) (Stats, error)
	// Unused tells how long each subscription has not been used, 0 for one without
	// state. It looks at one after the other, whatever their revisions are.
	Unused(context.Context, []Ref) ([]time.Duration, error)
}

// Stats are the counters of a subscription.
type Stats struct {
	// Undelivered messages lie ahead of the cursor, wait to be leased again after
	// a seek, or were left in the log by a key that overflowed; Outstanding ones were leased
	// and are not settled: leased now, waiting for a retry, or Dead.
	Undelivered, Outstanding int64
	// Dead messages have had all their attempts and wait to be moved to the
	// dead-letter topic. Parked ones wait behind an earlier one of their
	// ordering key. Both are outstanding.
	Dead, Parked int64
	// Bytes is the size of undelivered and outstanding messages together.
	Bytes int64
	// OldestAge is the age of the oldest message that is not acked; 0 without one.
	OldestAge time.Duration
	// UpperBound means that Undelivered, Bytes and OldestAge may be too high: the
	// subscription has a Match, and messages ahead of the cursor that it will
	// pass over are counted, since nobody has looked at them. Stores leave it to
	// the Service.
	UpperBound bool
	// Totals since the subscription was created, of which what a seek acks is no
	// part. Acked counts messages that were acked while outstanding; Expired
	// leases that ran out; Dropped messages that outlived the retention; Late ones that
	// were dropped since their own time to live was over; Lost messages that had vanished from the log; DeadLettered moves completed by
	// SettleDead; Filtered messages that the Match passed over. Of what is dropped ahead of the cursor nobody
	// knows whether it would have matched.
	Acked, Nacked, Expired, Dropped, Late, Lost, DeadLettered, Filtered int64
}

// Rules are the parts of a subscription's configuration that steps act on.
type Rules struct {
	// Retry are the delays after the first, second, … failed attempt, the last
	// one for all later ones; none means at once.
	Retry []Span
	// MaxAttempts is after how many attempts a message is dead; 0 is never.
	MaxAttempts int
	// DeadLetterLate makes a message dead whose time to live is over; else it is
	// dropped.
	DeadLetterLate bool
	// Retention is how long a message is kept unacked; where the topic's is
	// longer, that counts.
	Retention time.Duration
	// Outstanding bounds the outstanding messages.
	Outstanding int
	// Ordered delivers the messages of an ordering key one after the other. It
	// is the same in all calls for a subscription.
	Ordered bool
	// Match selects messages; nil selects all. What it does not select counts as
	// acked: it is passed over, costs no delivery and is never outstanding. It is
	// the same in all calls for a subscription.
	Match *Match
}

// LeaseRequest asks for messages.
type LeaseRequest struct {
	Ref
	Rules Rules
	// Max and MaxBytes bound the answer; at least one message is leased if there
	// is any. A store may return fewer.
	Max, MaxBytes int
	// Run bounds how many messages of one ordering key are leased at once; at
	// least 1.
	Run int
	// Deadline is how long the leases last.
	Deadline time.Duration
	// Use counts the call as a use of the subscription, for its expiration.
	Use bool
	// Jitter is a random number, 0 to less than 1.
	Jitter float64
}

// LeaseResult is what was leased, redeliveries first, each kind in order of the log.
type LeaseResult struct {
	Deliveries []Delivery
	// More means that another lease now would find something.
	More bool
	// NextDue is when something that is outstanding now, or delayed, next becomes
	// due, as far as is known; negative when nothing will by itself.
	NextDue time.Duration
}

// Nack asks for a message to be delivered again after the delay of the retry
// policy, or AtLeast if that is longer.
type Nack struct {
	Receipt
	AtLeast time.Duration
	// Failure says why, for people to read. Without a Reason it is ReasonRefused.
	Failure
}

// NackRequest returns messages that their receivers refused.
type NackRequest struct {
	Ref
	Rules  Rules
	Nacks  []Nack
	Jitter float64
	// Use counts the call as a use of the subscription: it is a subscriber's, not a
	// push's.
	Use bool
}

// Missed are the receipts of a Confirm that had no effect.
type Missed struct {
	// Over are those whose lease is over: it ended, was nacked or released, or
	// the message was delivered again or is gone.
	Over []Receipt
	// Early are current ones of messages that an earlier message of their ordering
	// key must go before.
	Early []Receipt
}

// Leases are the steps in the life of an outstanding message. Receipts of
// another epoch, and of messages that are no longer outstanding, have no
// effect and are no error.
//
//	lease:   ahead of the cursor, or waiting and due -> leased
//	         (first: an expired lease -> waiting for its deadline + delay; what
//	         is due with all attempts had -> dead)
//	ack:     leased, waiting or dead, whatever the delivery -> gone
//	confirm: leased, this delivery, not expired -> gone
//	extend:  leased, this delivery, not expired -> leased until now + d
//	nack:    leased, this delivery, not expired -> waiting, or dead
//	release: leased, this delivery, not expired -> waiting, due now; the attempt
//	         is not counted
//
// With Ordered, the outstanding messages of one ordering key stand in a queue.
// Only its head may wait or be dead. What comes behind something outstanding
// that this very answer does not lease too is parked instead of leased. A run
// of the head and up to Run - 1 that follow it is leased together. When the
// head goes, what was acked behind it goes too, and the next, if parked, waits,
// due now.
//
//	ack:     not the head: leased, this delivery -> acked provisionally, for as
//	         long as all before it are not nacked, released and do not expire
//	confirm: the head only
//	at half of Outstanding parked: the key overflows. What comes from then on
//	         is not outstanding but left in the log, however much, and the cursor
//	         goes on; once the queue is empty it is filled again from there
//	nack, release, expired lease of a message: what is leased or provisionally
//	         acked behind it in its queue -> parked; that attempt is not
//	         counted; the message itself, if not the head -> parked
type Leases interface {
	// Lease never returns a dead message, and takes redeliveries for at most
	// half of Max while there are new messages. Half of an odd Max is rounded up
	// when Jitter is below 0.5, else down.
	// With a Match it looks ahead for a bounded number of messages and moves the
	// cursor over what does not match, so it may return none, and More.
	Lease(context.Context, LeaseRequest) (LeaseResult, error)
	Acknowledge(ctx context.Context, ref Ref, receipts []Receipt) error
	// Confirm is an ack whose effect is told; only a current lease can be acked.
	// Receipts are in order of the log, and none comes twice. What is settled is remembered until its
	// lease would have ended: to confirm it again has no effect and is not missed.
	Confirm(ctx context.Context, ref Ref, receipts []Receipt) (Missed, error)
	// Extend and Nack return the receipts that had no effect. Acknowledge, Confirm
	// and Extend count as a use of the subscription, whatever effect they have.
	Extend(ctx context.Context, ref Ref, receipts []Receipt, d time.Duration) ([]Receipt, error)
	Nack(context.Context, NackRequest) ([]Receipt, error)
	Release(ctx context.Context, ref Ref, releases []Release) error
	// Remaining tells how much longer each lease lasts: 0 for one that is over, or
	// was ended, or is not of the current delivery. No message may come twice.
	Remaining(ctx context.Context, ref Ref, receipts []Receipt) ([]time.Duration, error)
}

// SweepRequest asks for the upkeep of a subscription that nobody may be pulling.
type SweepRequest struct {
	Ref
	Rules Rules
	// Max bounds how many dead messages are returned and Hold is how long no
	// other sweep gets the same ones. With 0 they are left alone: they are nothing
	// to do, now or next.
	Max    int
	Hold   time.Duration
	Jitter float64
	// Review looks among the waiting messages for ones that have had all their
	// attempts although they had not when they began to wait: MaxAttempts was
	// lowered since. It is the place, in order of due time, where to look, 0
	// first; negative leaves it out. What it finds is dead when its wait is over.
	Review int
}

// SweepResult is what a sweep found.
type SweepResult struct {
	// Dead are messages to be moved to the dead-letter topic. Each is settled by
	// SettleDead once that is done.
	Dead []Delivery
	// More means that another sweep now would find something to do.
	More bool
	// NextDue is when a lease runs out next, or dead messages can be taken;
	// negative when neither will happen by itself.
	NextDue time.Duration
	// Review is where another sweep goes on looking; negative at the end.
	Review int
	// Unused is how long the subscription has not been used.
	Unused time.Duration
	// OldestAge is as that of Stats, after the sweep.
	OldestAge time.Duration
}

// DeadLetters moves messages to dead-letter topics in steps of which each may
// be repeated: Sweep, AppendDead, SettleDead, ForgetDead. A crash between any
// two leaves the message in at least one place, and a repeated AppendDead adds
// no second copy.
type DeadLetters interface {
	// Sweep drops what outlived the retention, turns expired leases into waiting
	// or dead messages, and takes dead ones. Waiting messages are no work for it
	// but for Review. Dead messages that the Rules no
	// longer call dead become due.
	Sweep(context.Context, SweepRequest) (SweepResult, error)
	// AppendDead publishes to topic, in one step, those of dead that it has not
	// yet taken from the subscription with UID source. The ID of each is the
	// one it has at the source. With nothing attached they are kept for keep
	// nevertheless. RESOURCE_EXHAUSTED when the store is full.
	AppendDead(ctx context.Context, topic TopicRef, source string, dead []Message, keep time.Duration) error
	// SettleDead takes moved messages from the source.
	SettleDead(ctx context.Context, ref Ref, receipts []Receipt) error
	// Attempts returns the last attempts that failed of each outstanding message,
	// newest first, whatever the delivery; none of one that is gone.
	Attempts(ctx context.Context, ref Ref, receipts []Receipt) ([][]Attempt, error)
	// ForgetDead lets topic forget that it took these messages, once they are
	// settled at the source.
	ForgetDead(ctx context.Context, topic, source string, ids []MessageID) error
}
