package redisstream

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"postrider/subscriptions"
)

// onSource is what scripts need that look at the source.
var onSource = with(onSubscription, "trim_log", "outstanding", "source")

var (
	seekScript    = newScript("seek", with(onSource, "rank", "overflow", "delayed", "due", "place_before", "place")...)
	restoreScript = newScript("restore", with(onSource, "delayed", "due", "place_before", "place")...)
	purgeScript   = newScript("purge_source", onSource...)
	bringScript   = newScript("bring_letters")
)

// How a script on the source ended.
const (
	sourceDone   = 0
	sourcePurge  = 1 // but for purge_source
	sourceAgain  = 2 // not at all: purge_source comes first
	sourceAbsent = 3 // not at all: there is no snapshot, or none can be taken
	sourceCopy   = 4 // not at all: redriven messages are to be copied first, or more of them
)

// keepCopied is how long Redis keeps redriven messages that were copied to or from a snapshot by a call that never came to its
// end: its server may have gone.
const keepCopied = 10 * time.Minute

// Seek implements subscriptions.Seeks. Only the log knows how large messages are, so when some of those that were outstanding
// are acked and others not, the ones that are acked are taken out a few hundred at a time. Before a snapshot is restored, what was
// redriven is copied from it, likewise.
func (s *Store) Seek(ctx context.Context, r subscriptions.SeekRequest) (result subscriptions.SeekResult, err error) {
	sc, extra, args := seekScript, []string(nil), []any{ceilMilli(r.Time), oneIf(r.ValidateOnly)}
	if r.Snapshot != "" {
		call := s.keys.brought(r.Topic, rand.Text())
		sc, extra, args = restoreScript, append(s.keys.snapshot(r.Topic, r.Snapshot), call), []any{oneIf(r.ValidateOnly)}
	}
	err = s.onPurged(ctx, r.Ref, func() (int64, error) {
		f, err := s.onStateAnd(ctx, sc, r.Ref, slices.Concat(extra, s.keys.delayed(r.Topic)), args...)
		if err != nil {
			return 0, err
		}
		how := f.int()
		result = subscriptions.SeekResult{Unacked: f.int(), Acked: f.int(), UpperBound: f.int() == 1}
		if how == sourceAbsent {
			return how, subscriptions.Errorf(subscriptions.NotFound, "the snapshot does not exist")
		}
		if how == sourceCopy {
			return how, s.bringLetters(ctx, extra[len(extra)-3:])
		}
		return how, f.err
	})
	return result, err
}

// bringLetters copies what a snapshot holds of redriven messages.
func (s *Store) bringLetters(ctx context.Context, keys []string) error {
	for rank := int64(0); rank >= 0; {
		reply, err := s.run(ctx, bringScript, keys, rank, wholeMillis(keepCopied))
		if err != nil {
			return err
		}
		f := fields{name: bringScript.name, rest: reply}
		if rank = f.int(); f.err != nil {
			return f.err
		}
	}
	return nil
}

// onPurged runs a script until it is done, with what an earlier seek has left undone before it, and what this one has after it.
func (s *Store) onPurged(ctx context.Context, ref subscriptions.Ref, do func() (how int64, err error)) error {
	for {
		how, err := do()
		if err != nil {
			return err
		}
		switch how {
		case sourceCopy:
			continue
		case sourcePurge:
			return s.purge(ctx, ref)
		case sourceAgain:
			if err := s.purge(ctx, ref); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// purge takes away what a seek has acked.
func (s *Store) purge(ctx context.Context, ref subscriptions.Ref) error {
	for more := true; more; {
		f, err := s.onState(ctx, purgeScript, ref)
		if err != nil {
			return err
		}
		if more = f.int() == 1; f.err != nil {
			return f.err
		}
	}
	return nil
}

// onStateAnd is onState with more keys than a subscription's.
func (s *Store) onStateAnd(ctx context.Context, sc *script, ref subscriptions.Ref, extra []string, args ...any) (*fields, error) {
	keys := slices.Concat(s.keys.subscription(ref.Topic, ref.Subscription), extra)
	all := append([]any{s.now(), ref.Revision, s.keys.wake(ref.Topic), ref.Subscription}, args...)
	reply, err := s.run(ctx, sc, keys, all...)
	return &fields{name: sc.name, rest: reply}, err
}
