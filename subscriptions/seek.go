package subscriptions

import (
	"context"
	"time"
)

// SeekRequest asks for another place in the log. Exactly one of Time and
// Snapshot is set.
type SeekRequest struct {
	Ref
	// Time is when the first message was published that is unacked afterwards.
	Time time.Time
	// Snapshot is the UID of one in the same slot.
	Snapshot string
	// ValidateOnly changes nothing and counts what would change.
	ValidateOnly bool
}

// SeekResult says how many messages that are acked would not be, and the other
// way round.
type SeekResult struct {
	Unacked, Acked int64
	// UpperBound means that both may be too high: a key has left messages in the log,
	// now or in the snapshot, which nobody has looked at one by one; or, which
	// stores leave to the Service, the subscription has a Match, and messages that
	// it does not select are counted.
	UpperBound bool
}

// SnapshotRef addresses a snapshot in its topic's slot. Expires is adopted with
// a higher Revision.
type SnapshotRef struct {
	Topic    string // the topic's UID
	Snapshot string // the snapshot's UID
	Revision int64
	Expires  time.Time
}

// Seeks moves subscriptions to other places of the log, and keeps places to
// come back to.
//
// A seek begins a new epoch: nothing is leased, parked or dead any more,
// receipts from before have no effect, and attempts start anew. What was
// outstanding and stays unacked becomes the source: a second, finite log that
// leases read before the log itself, in its order. It wakes who waits on the
// subscription, at once.
type Seeks interface {
	// Seek to a time acks what was published before it, and unacks the rest, as
	// far as it is retained: within the topic's retention all of it, within Retain
	// what was published since the subscription was attached, and what is not
	// acked yet always. Where keys have left messages in the log that are neither
	// all acked nor all kept, what others acked behind those comes again, too. A
	// time after the last message acks all, but nothing that is yet to come.
	//
	// Seek to a snapshot unacks what was unacked when it was taken and all that
	// was published since, and acks the rest. NOT_FOUND for one that is not in the
	// slot or has expired.
	Seek(context.Context, SeekRequest) (SeekResult, error)
	// TakeSnapshot keeps what is unacked now, and all that is published from now
	// on, until it expires: SnapshotLife less the age of the oldest unacked message
	// from now. FAILED_PRECONDITION when that is less than MinSnapshotLife. Where
	// it exists it only tells when it expires.
	TakeSnapshot(ctx context.Context, ref Ref, snap SnapshotRef, name SnapshotName) (expires time.Time, err error)
	// KeepSnapshot tells how long a snapshot is kept; nothing or less when it is
	// not any more. ErrGone when there is none.
	KeepSnapshot(context.Context, SnapshotRef) (left time.Duration, err error)
	// DropSnapshot removes a snapshot. Without one it does nothing.
	DropSnapshot(ctx context.Context, topic, snapshot string) error
	// SnapshotsOf lists the names of a topic's snapshots, sorted by their text.
	SnapshotsOf(ctx context.Context, topic string) ([]SnapshotName, error)
}

// SeekTarget is where a subscription is to be: exactly one of Time and Snapshot
// is set.
type SeekTarget struct {
	Time     *time.Time
	Snapshot *SnapshotName
}

// Seek makes a subscription deliver anew from a time or a snapshot on; see Seeks.
// NOT_FOUND (subscription or snapshot), INVALID_ARGUMENT; FAILED_PRECONDITION
// for a snapshot of another topic or, to a subscription with a filter, of one
// with another filter, and for a detached subscription.
func (s *Service) Seek(ctx context.Context, name SubscriptionName, to SeekTarget) error {
	_, err := s.seek(ctx, name, to, false)
	return err
}

func (s *Service) seek(ctx context.Context, name SubscriptionName, to SeekTarget, validateOnly bool) (result SeekResult, err error) {
	if err := name.Validate(); err != nil {
		return result, err
	}
	err = s.directory.withSubscription(ctx, name, func(sub Subscription) error {
		r, like, err := s.seekRequest(ctx, sub, to)
		if err != nil {
			return err
		}
		r.ValidateOnly = validateOnly
		ctx, cancel := step(ctx)
		defer cancel()
		if result, err = s.store.Seek(ctx, r); err == nil && !validateOnly {
			s.windows.forget(sub.UID)
		}
		sure := like && sub.selection() == nil || result.Unacked+result.Acked == 0
		result.UpperBound = result.UpperBound || validateOnly && !sure
		return err
	})
	if err == nil && !validateOnly {
		s.trimSought(ctx, name)
	}
	return result, err
}

// SeekOptions are what is special of a seek that can be undone.
type SeekOptions struct {
	// ValidateOnly changes nothing and counts what would change.
	ValidateOnly bool
	// WithoutUndo takes no snapshot before the seek.
	WithoutUndo bool
}

// SeekOutcome is what a seek did or would do.
type SeekOutcome struct {
	// SeekResult is set with ValidateOnly.
	SeekResult
	// Undo is the snapshot that was taken before; unset without one.
	Undo SnapshotName
}

// SeekUndoably is Seek with a snapshot taken before, to seek back to. Also
// FAILED_PRECONDITION when none can be taken, in which case nothing changed.
func (s *Service) SeekUndoably(ctx context.Context, name SubscriptionName, to SeekTarget, o SeekOptions) (out SeekOutcome, err error) {
	// A seek that is refused leaves no snapshot behind.
	if out.SeekResult, err = s.seek(ctx, name, to, true); err != nil || o.ValidateOnly {
		return out, err
	}
	out.SeekResult = SeekResult{}
	if !o.WithoutUndo {
		out.Undo = SnapshotName{Project: name.Project, ID: "undo-" + newUID()}
		if _, err := s.CreateSnapshot(ctx, Snapshot{Name: out.Undo, Subscription: name}); err != nil {
			return SeekOutcome{}, err
		}
	}
	_, err = s.seek(ctx, name, to, false)
	return out, err
}

// seekRequest checks where a subscription is to be. like is false for a snapshot
// that may be of a subscription which does not deliver in order as this one does,
// or the other way round: stores keep what is outstanding of these differently.
func (s *Service) seekRequest(ctx context.Context, sub Subscription, to SeekTarget) (r SeekRequest, like bool, err error) {
	r.Ref, like = sub.Ref(), true
	switch {
	case (to.Time == nil) == (to.Snapshot == nil):
		return r, like, Errorf(InvalidArgument, "a seek needs either a time or a snapshot")
	case to.Time != nil:
		r.Time = *to.Time
	default:
		snap, err := s.snapshotFor(ctx, sub, *to.Snapshot)
		if err != nil {
			return r, like, err
		}
		r.Snapshot = snap.UID
		of, err := s.store.Subscription(ctx, snap.Subscription)
		if err != nil && CodeOf(err) != NotFound {
			return r, like, err
		}
		like = err == nil && of.UID == snap.SubscriptionUID && of.Ordered == sub.Ordered
	}
	if sub.Detached {
		return r, like, Errorf(FailedPrecondition, "%s is detached from its topic", sub.Name)
	}
	return r, like, nil
}

// snapshotFor reads a snapshot and checks that the subscription can go there.
func (s *Service) snapshotFor(ctx context.Context, sub Subscription, name SnapshotName) (Snapshot, error) {
	snap, err := s.readSnapshot(ctx, name)
	switch {
	case err != nil:
		return Snapshot{}, err
	case snap.TopicUID != sub.TopicUID:
		return Snapshot{}, Errorf(FailedPrecondition, "%s is a snapshot of another topic than that of %s", snap.Name, sub.Name)
	case sub.selects() && (sub.Filter != snap.Filter || orZero(sub.Routing) != orZero(snap.Routing)):
		return Snapshot{}, Errorf(FailedPrecondition, "%s is a snapshot of a subscription with another filter than that of %s", snap.Name, sub.Name)
	}
	return snap, nil
}

// trimSought cuts off the log what a seek has acked. That is done, and what is
// left of the log goes with later steps.
func (s *Service) trimSought(ctx context.Context, name SubscriptionName) {
	sub, err := s.directory.subscription(ctx, name)
	if err == nil {
		err = s.trim(ctx, sub.TopicUID)
	}
	s.logFailure(ctx, "trim the log after a seek", name.String(), err)
}
