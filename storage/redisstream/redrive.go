package redisstream

import (
	"context"
	"slices"
	"strconv"
	"time"

	"postrider/subscriptions"
)

// onUnacked is what scripts need that look for a message wherever it may be unacked.
var onUnacked = with(onSubscription, "trim_log", "outstanding", "overflow", "order", "source", "unacked")

var redriveScript = newScript("redrive", with(onUnacked, "taken")...)

// Redrive implements subscriptions.Redrives.
func (s *Store) Redrive(ctx context.Context, r subscriptions.RedriveRequest) (fates []subscriptions.RedriveFate, err error) {
	extra := []string{s.keys.topic(r.Topic, "taken")}
	args := []any{r.Rules.Outstanding, oneIf(r.KeepLeases), wholeMillis(rememberTaken)}
	for _, l := range r.Letters {
		key := uint64(0)
		if r.Rules.Ordered {
			key = l.Message.KeyHash()
		}
		args = append(args, redrivenMember(l), member(l.PlaceID(), key), head(l.Message), encodeLetter(l))
	}
	f, err := s.onStateAnd(ctx, redriveScript, r.Ref, extra, args...)
	if err != nil {
		return nil, err
	}
	for range r.Letters {
		fates = append(fates, subscriptions.RedriveFate(f.int()))
	}
	return fates, f.err
}

var forgetRedrivenScript = newScript("forget_redriven", "clock", "taken")

// ForgetRedriven implements subscriptions.Redrives.
func (s *Store) ForgetRedriven(ctx context.Context, topic string, letters []subscriptions.RedriveLetter, after time.Duration) error {
	return inChunks(letters, func(chunk []subscriptions.RedriveLetter) error {
		args := []any{s.now(), wholeMillis(rememberTaken), wholeMillis(after)}
		for _, l := range chunk {
			args = append(args, redrivenMember(l))
		}
		_, err := s.run(ctx, forgetRedrivenScript, []string{s.keys.topic(topic, "taken")}, args...)
		return err
	})
}

var (
	takeAwayScript = newScript("remove", with(onUnacked, "settled")...)
	absorbScript   = newScript("absorb", with(onSource, "overflow")...)
	discardScript  = newScript("discard", onTopic...)
)

// removeAhead is what remove.lua tells, beside the fates, of a message that it cannot take yet.
const removeAhead = subscriptions.RemoveFate(4)

// Remove implements subscriptions.Redrives. What lies ahead of the cursor cannot be taken by itself: what the cursor passes on
// the way there is read from the source from then on.
func (s *Store) Remove(ctx context.Context, r subscriptions.RemoveRequest) ([]subscriptions.RemoveFate, error) {
	fates := make([]subscriptions.RemoveFate, len(r.Receipts))
	left := make([]int, len(r.Receipts)) // of which nothing is known yet
	for i := range left {
		left[i] = i
	}
	for {
		var ahead subscriptions.MessageID
		err := inChunks(left, func(chunk []int) error {
			receipts := make([]subscriptions.Receipt, len(chunk))
			for i, at := range chunk {
				receipts[i] = r.Receipts[at]
			}
			some, err := s.removeSome(ctx, r.Ref, receipts)
			for i, fate := range some {
				if fates[chunk[i]] = fate; fate == removeAhead && receipts[i].ID.Compare(ahead) > 0 {
					ahead = receipts[i].ID
				}
			}
			return err
		})
		if err != nil || ahead.IsZero() {
			return fates, err
		}
		if err := s.absorb(ctx, r, ahead); err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(i int) bool { return fates[i] != removeAhead })
	}
}

func (s *Store) removeSome(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) (fates []subscriptions.RemoveFate, err error) {
	args := make([]any, len(receipts))
	for i, r := range receipts {
		args[i] = member(r.ID, r.Key)
	}
	err = s.onPurged(ctx, ref, func() (int64, error) {
		f, err := s.onState(ctx, takeAwayScript, ref, args...)
		if err != nil {
			return 0, err
		}
		how := f.int()
		fates = nil
		for len(f.rest) > 0 {
			fates = append(fates, subscriptions.RemoveFate(f.int()))
		}
		return how, f.err
	})
	return fates, err
}

// forEver is a retention that passes over nothing.
const forEver = 100 * 365 * 24 * time.Hour

// absorb moves the cursor up to a message.
func (s *Store) absorb(ctx context.Context, r subscriptions.RemoveRequest, to subscriptions.MessageID) error {
	for {
		p, err := s.place(ctx, r.Ref, subscriptions.Rules{Retention: forEver})
		if err != nil || p.n >= to.N() {
			return err
		}
		entries, _, err := s.readEntries(ctx, r.Topic, p.largest, p.id, to.String(), scriptMax)
		if err != nil || len(entries) == 0 {
			return err // it has gone: what reads on finds that out
		}
		last := entries[len(entries)-1]
		n, err := last.n()
		if err != nil {
			return err
		}
		args := []any{p.n, last.id, n, strconv.FormatInt(last.sum(), 10), len(entries), oneIf(r.Rules.Ordered)}
		j := judge{match: r.Rules.Match}
		for _, e := range entries {
			if r.Rules.Match == nil || j.matches(e) {
				args = append(args, e.id)
			}
		}
		err = s.onPurged(ctx, r.Ref, func() (int64, error) {
			f, err := s.onState(ctx, absorbScript, r.Ref, args...)
			if err != nil {
				return 0, err
			}
			return f.int(), f.err
		})
		if err != nil {
			return err
		}
	}
}

// Discard implements subscriptions.Redrives.
func (s *Store) Discard(ctx context.Context, topic string, ids []subscriptions.MessageID) (fates []subscriptions.RemoveFate, err error) {
	err = inChunks(ids, func(chunk []subscriptions.MessageID) error {
		args := []any{s.now(), "", s.keys.wake(topic)}
		for _, id := range chunk {
			args = append(args, id.String())
		}
		reply, err := s.run(ctx, discardScript, s.keys.topicSlot(topic)[:4], args...)
		if err != nil {
			return err
		}
		f := fields{name: discardScript.name, rest: reply}
		for range chunk {
			fates = append(fates, subscriptions.RemoveFate(f.int()))
		}
		return f.err
	})
	return fates, err
}
