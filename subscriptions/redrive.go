package subscriptions

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"
)

// DeadLetterWork asks for dead letters to be redriven or purged.
type DeadLetterWork struct {
	// DeadLetterQuery selects them. Where the dead-letter topic has several
	// subscriptions, each with its own copies, its Holder says from which of them
	// they are taken.
	DeadLetterQuery
	// PerSecond is how many are redriven a second, at most; 0 is as many as can be.
	PerSecond float64
	// ToFirst redrives what died again as a dead letter to the subscription that it
	// died at first, in place of the last.
	ToFirst bool
	// ValidateOnly counts them and does nothing.
	ValidateOnly bool
}

// Redrive begins to move dead letters back, each to the subscription that it came
// from last, or with ToFirst at first, and to no other: with the message id and
// the publish time that it had, its attempts counted from one again, and the
// attributes RedrivenAttribute and so on. What is there when it begins is moved,
// not what dies later. It answers at once; the
// operation goes on on whatever server owns it. With ValidateOnly it answers an
// operation without a name, of which only the Progress matters. NOT_FOUND;
// FAILED_PRECONDITION as for DeadLetters; INVALID_ARGUMENT, also when Holder has
// to be set.
func (s *Service) Redrive(ctx context.Context, w DeadLetterWork) (Operation, error) {
	return s.beginWork(ctx, RedriveKind, w)
}

// Purge begins to drop dead letters, as Redrive does to move them.
func (s *Service) Purge(ctx context.Context, w DeadLetterWork) (Operation, error) {
	w.PerSecond, w.ToFirst = 0, false
	return s.beginWork(ctx, PurgeKind, w)
}

func (s *Service) beginWork(ctx context.Context, kind OperationKind, w DeadLetterWork) (op Operation, err error) {
	if err := w.named(); err != nil {
		return op, err
	}
	topic, holders, err := s.holders(ctx, w.DeadLetterQuery)
	if err := firstError(err, w.validate(), w.validateRate(), chosen(holders)); err != nil {
		return op, err
	}
	op = Operation{Kind: kind, Query: w.DeadLetterQuery, Topic: topic.Name, PerSecond: w.PerSecond, ToFirst: w.ToFirst}
	op.Query.Holder = holders[0].Name
	if err = s.countLetters(ctx, &op, topic, holders[0]); err != nil || w.ValidateOnly {
		return op, err
	}
	project := topic.Name.Project
	if w.Subscription != (SubscriptionName{}) {
		project = w.Subscription.Project
	}
	op.UID, op.Revision, op.Created = newUID(), 1, time.Now().UTC().Truncate(time.Millisecond)
	op.Name = OperationName{Project: project, ID: strings.ToLower(string(kind)) + "-" + op.UID}
	return op, s.store.InsertOperation(ctx, op)
}

func (w DeadLetterWork) validateRate() error {
	if w.PerSecond < 0 || w.PerSecond > 1e6 || math.IsNaN(w.PerSecond) {
		return Errorf(InvalidArgument, "messagesPerSecond: %v is out of range: it must be 0 (for as many as can be) to 1000000", w.PerSecond)
	}
	return nil
}

// chosen tells whether it is clear which copies of dead letters are meant.
func chosen(holders []Subscription) error {
	if len(holders) < 2 {
		return nil
	}
	var names []string
	for _, h := range holders {
		names = append(names, h.Name.String())
	}
	return Errorf(InvalidArgument, "deadLetterSubscription: required, since each subscription of the dead-letter topic holds its own copies; one of %s", strings.Join(names, ", "))
}

// workBatch is how many dead letters are moved at once.
const workBatch = 100

// batch is how many dead letters of a rate are moved at once.
func (o Operation) batch() int {
	if o.PerSecond == 0 {
		return workBatch
	}
	return min(workBatch, max(1, int(o.PerSecond)))
}

// workStep moves the next dead letters of an operation, and changes it to what it
// is then, which nobody knows until it is written. moved is how many moved. An
// error that has a Failure ends the operation.
func (s *Service) workStep(ctx context.Context, op *Operation, search *letterSearch) (moved int, err error) {
	topic, holders, err := s.holders(ctx, op.Query)
	if err != nil {
		return 0, err
	}
	holder := holders[0]
	if holder.Name != op.Query.Holder {
		return 0, Errorf(FailedPrecondition, "%s has subscriptions by now, which this operation was not to take dead letters from", topic.Name)
	}
	from, past := search.from(op.Place)
	if past {
		op.Done = true
		return 0, nil
	}
	// What is seen is moved within this time or not at all: see forgetAfter.
	ctx, cancel := step(ctx)
	defer cancel()
	res, err := s.peekHolder(ctx, holder, from, search.most(from, op.batch()))
	if err != nil {
		return 0, err
	}
	work := letterWork{s: s, kind: op.Kind, topic: topic, holder: holder}
	for _, m := range res.Messages {
		o, ok := originOf(m.Message)
		if ok && m.Message.ID.Compare(op.Until) <= 0 && search.selects(m.Message, o) {
			work.letters = append(work.letters, DeadLetter{Peeked: m, Origin: o.target(op.ToFirst)})
		}
	}
	err = work.do(ctx)
	op.Progress.Moved += int64(work.moved)
	op.Progress.Gone += int64(work.gone)
	op.Progress.Waiting = work.waiting
	if err != nil || work.waiting != "" {
		return work.moved, err
	}
	op.Progress.Failed += int64(work.failed)
	if work.failed > 0 {
		op.Progress.Reason = work.reason
	}
	op.Place, op.Done = res.Next, !res.More || res.Next.Part == PeekAhead && res.Next.ID.Compare(op.Until) > 0
	return work.moved, nil
}

// letterWork moves some dead letters of one holder.
type letterWork struct {
	s       *Service
	kind    OperationKind
	topic   Topic
	holder  Subscription
	letters []DeadLetter

	moved, gone, failed int
	reason              string // why the last one failed
	waiting             string // why some are not moved now
}

func (w *letterWork) do(ctx context.Context) error {
	if w.kind == PurgeKind {
		_, err := w.remove(ctx, w.letters)
		return err
	}
	for len(w.letters) > 0 {
		source := w.letters[0].Origin.Subscription
		same := slices.DeleteFunc(slices.Clone(w.letters), func(d DeadLetter) bool { return d.Origin.Subscription != source })
		w.letters = slices.DeleteFunc(w.letters, func(d DeadLetter) bool { return d.Origin.Subscription == source })
		if err := w.redrive(ctx, source, same); err != nil {
			return err
		}
	}
	return nil
}

func (w *letterWork) fail(n int, format string, args ...any) {
	if n > 0 {
		w.failed, w.reason = w.failed+n, Errorf(FailedPrecondition, format, args...).Message
	}
}

// redrive moves dead letters to the subscription that all of them came from: put
// back there, remove here, have it forgotten there after a while. Each step may be
// repeated, by any server.
func (w *letterWork) redrive(ctx context.Context, source SubscriptionName, letters []DeadLetter) error {
	var back []DeadLetter
	var ref Ref
	var old, foreign int
	err := w.s.directory.withSubscription(ctx, source, func(sub Subscription) (err error) {
		back, ref = nil, sub.Ref()
		if ctx.Err() != nil {
			return canceled(ctx) // held up for too long since they were seen
		}
		if sub.Detached {
			return Errorf(NotFound, "%s is detached", source)
		}
		var fit []DeadLetter
		fit, old, foreign = returnable(sub, letters)
		r := RedriveRequest{Ref: ref, Rules: sub.Rules(w.s.outstanding), KeepLeases: sub.ExactlyOnce, Letters: w.on(fit)}
		fates, err := w.s.store.Redrive(ctx, r)
		for i, fate := range fates {
			switch fate {
			case RedriveThere:
				back = append(back, fit[i])
			case RedriveFull:
				w.waiting = "as many messages are outstanding in " + source.String() + " as may be"
			default:
				w.waiting = "a message of " + source.String() + " that comes before is being moved, or delivered"
			}
		}
		return err
	})
	switch CodeOf(err) {
	case "":
	case NotFound:
		w.fail(len(letters), "%s, which they came from, does not exist or is detached", source)
		return nil
	case ResourceExhausted:
		w.waiting = "the store is full"
		return nil
	default:
		return err
	}
	w.fail(old, "an older version moved it, which did not note the id that the message had")
	w.fail(foreign, "it comes from another topic than that of %s now", source)
	gone, err := w.remove(ctx, back)
	if len(gone) > 0 {
		// They are back. A topic that cannot be told forgets by itself in time.
		w.s.logFailure(ctx, "let a topic forget what was redriven", ref.Topic, w.s.store.ForgetRedriven(ctx, ref.Topic, w.on(gone), forgetAfter))
	}
	return err
}

// returnable are those that a subscription can take back, and how many it cannot.
func returnable(sub Subscription, letters []DeadLetter) (fit []DeadLetter, old, foreign int) {
	for _, d := range letters {
		switch {
		case d.Origin.MessageID.IsZero():
			old++
		case d.Origin.topicUID != sub.TopicUID:
			foreign++
		default:
			fit = append(fit, d)
		}
	}
	return fit, old, foreign
}

// on are letters on their way back.
func (w *letterWork) on(letters []DeadLetter) (all []RedriveLetter) {
	for _, d := range letters {
		all = append(all, RedriveLetter{Message: d.Origin.redriven(d.Message), Place: d.Origin.place, Topic: w.topic.UID, ID: d.Message.ID})
	}
	return all
}

// remove takes dead letters from their holder, and returns those that are not
// there any more, whoever took them. Only those that it took itself count as moved.
func (w *letterWork) remove(ctx context.Context, letters []DeadLetter) (gone []DeadLetter, err error) {
	if len(letters) == 0 {
		return nil, nil
	}
	fates, err := w.takeAway(ctx, letters)
	if err != nil {
		return nil, err
	}
	left := 0
	for i, d := range letters {
		switch fates[i] {
		case RemoveTaken:
			w.moved++
		case RemoveGone:
			w.gone++
		default:
			left++
			continue
		}
		gone = append(gone, d)
	}
	if w.holder.UID == "" && left > 0 {
		return gone, Errorf(FailedPrecondition, "%s has subscriptions or snapshots by now", w.topic.Name)
	}
	w.fail(left, "%s has left it in the log, behind too many others of its ordering key", w.holder.Name)
	return gone, nil
}

func (w *letterWork) takeAway(ctx context.Context, letters []DeadLetter) (fates []RemoveFate, err error) {
	if w.holder.UID == "" {
		ids := make([]MessageID, len(letters))
		for i, d := range letters {
			ids[i] = d.Message.ID
		}
		return w.s.store.Discard(ctx, w.topic.UID, ids)
	}
	err = w.s.directory.withSubscription(ctx, w.holder.Name, func(sub Subscription) (err error) {
		r := RemoveRequest{Ref: sub.Ref(), Rules: sub.Rules(w.s.outstanding)}
		for _, d := range letters {
			r.Receipts = append(r.Receipts, d.Receipt())
		}
		fates, err = w.s.store.Remove(ctx, r)
		return err
	})
	return fates, err
}
