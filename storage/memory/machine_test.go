package memory

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postrider/storage/storagetest"
	"postrider/subscriptions"
)

func TestSideBySide(t *testing.T) {
	t.Parallel()
	storagetest.SideBySide(t, fixture, fixture)
}

// A store with a fault. The machine must tell it from a good one, and most of them without a good one beside it.
type faulty interface {
	subscriptions.Store
	log() *Store
}

// log is the store under the fault.
func (s *Store) log() *Store { return s }

type (
	losesAcks        struct{ *Store }
	forgetsExtends   struct{ *Store }
	confirmsLate     struct{ *Store }
	forgetsConfirmed struct{ *Store }
	spendsReleases   struct{ *Store }
	ignoresAtLeast   struct{ *Store }
	copiesLetters    struct{ *Store }
	miscountsTries   struct{ *Store }
	leasesTooLong    struct{ *Store }
	keepsDropped     struct{ *Store }
	neverTrims       struct{ *Store }
	settlesNothing   struct{ *Store }
	takesStale       struct{ *Store }
	leasesOneTooFew  struct{ *Store }
	ignoresMatch     struct{ *Store }
	passesTooMuch    struct{ *Store }
	ignoresDelays    struct{ *Store }
	forgetsCancels   struct{ *Store }
	ignoresLate      struct{ *Store }
)

func (s losesAcks) Acknowledge(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Receipt) error {
	return s.Store.Acknowledge(ctx, ref, rs[:max(len(rs)-1, 0)])
}

func (s forgetsExtends) Extend(context.Context, subscriptions.Ref, []subscriptions.Receipt, time.Duration) ([]subscriptions.Receipt, error) {
	return nil, nil
}

func (s spendsReleases) Release(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Release) error {
	r := subscriptions.NackRequest{Ref: ref}
	for _, release := range rs {
		r.Nacks = append(r.Nacks, subscriptions.Nack{Receipt: release.Receipt})
	}
	_, err := s.Store.Nack(ctx, r)
	return err
}

func (s confirmsLate) Confirm(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Receipt) (subscriptions.Missed, error) {
	return subscriptions.Missed{}, s.Store.Acknowledge(ctx, ref, rs)
}

func (s forgetsConfirmed) Confirm(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Receipt) (subscriptions.Missed, error) {
	clear(s.slots[ref.Topic].states[ref.Subscription].confirmed.until)
	return s.Store.Confirm(ctx, ref, rs)
}

func (s ignoresAtLeast) Nack(ctx context.Context, r subscriptions.NackRequest) ([]subscriptions.Receipt, error) {
	for i := range r.Nacks {
		r.Nacks[i].AtLeast = 0
	}
	return s.Store.Nack(ctx, r)
}

func (s copiesLetters) AppendDead(ctx context.Context, topic subscriptions.TopicRef, source string, dead []subscriptions.Message, keep time.Duration) error {
	for _, m := range dead {
		if err := s.Store.ForgetDead(ctx, topic.UID, source, []subscriptions.MessageID{m.ID}); err != nil {
			return err
		}
	}
	return s.Store.AppendDead(ctx, topic, source, dead, keep)
}

func (s miscountsTries) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	result, err := s.Store.Lease(ctx, r)
	for i, d := range result.Deliveries {
		result.Deliveries[i].Attempt = int(d.Number)
	}
	return result, err
}

func (s leasesTooLong) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	r.Deadline += time.Millisecond
	return s.Store.Lease(ctx, r)
}

func (s leasesOneTooFew) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	result, err := s.Store.Lease(ctx, r)
	if n := len(result.Deliveries); n > 1 {
		result.Deliveries = result.Deliveries[:n-1]
	}
	return result, err
}

func (s ignoresMatch) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	r.Rules.Match = nil
	return s.Store.Lease(ctx, r)
}

func (s passesTooMuch) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	if r.Rules.Match != nil {
		r.Rules.Match, _ = subscriptions.NewMatch(`attributes.k = "w.x"`, nil)
	}
	return s.Store.Lease(ctx, r)
}

func (s ignoresDelays) Publish(ctx context.Context, topic subscriptions.TopicRef, msgs []subscriptions.Message) ([]subscriptions.MessageID, error) {
	msgs = slices.Clone(msgs)
	for i := range msgs {
		msgs[i].Timing.Delay /= 2
	}
	return s.Store.Publish(ctx, topic, msgs)
}

func (s ignoresLate) Publish(ctx context.Context, topic subscriptions.TopicRef, msgs []subscriptions.Message) ([]subscriptions.MessageID, error) {
	msgs = slices.Clone(msgs)
	for i := range msgs {
		msgs[i].Timing.TTL *= 2
	}
	return s.Store.Publish(ctx, topic, msgs)
}

func (s forgetsCancels) CancelDelayed(_ context.Context, _ string, ids []subscriptions.MessageID) ([]subscriptions.MessageID, error) {
	return ids[:1], nil
}

func (s keepsDropped) Drop(context.Context, string, string) error { return nil }

func (s neverTrims) Acknowledge(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Receipt) error {
	s.slots[ref.Topic].kept = []kept{{1, 1 << 60}}
	return s.Store.Acknowledge(ctx, ref, rs)
}

func (s settlesNothing) SettleDead(context.Context, subscriptions.Ref, []subscriptions.Receipt) error {
	return nil
}

func (s takesStale) Acknowledge(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Receipt) error {
	ref.Revision += 100
	return s.Store.Acknowledge(ctx, ref, rs)
}

func TestMachineFindsFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		make  func(*Store) faulty
		alone bool // found without a good store
	}{
		"loses acks":         {func(s *Store) faulty { return losesAcks{s} }, true},
		"forgets extends":    {func(s *Store) faulty { return forgetsExtends{s} }, true},
		"confirms late acks": {func(s *Store) faulty { return confirmsLate{s} }, true},
		"forgets confirmed":  {func(s *Store) faulty { return forgetsConfirmed{s} }, true},
		"spends releases":    {func(s *Store) faulty { return spendsReleases{s} }, true},
		"ignores AtLeast":    {func(s *Store) faulty { return ignoresAtLeast{s} }, false},
		"copies letters":     {func(s *Store) faulty { return copiesLetters{s} }, true},
		"miscounts attempts": {func(s *Store) faulty { return miscountsTries{s} }, true},
		"leases too long":    {func(s *Store) faulty { return leasesTooLong{s} }, false},
		"leases too few":     {func(s *Store) faulty { return leasesOneTooFew{s} }, true},
		"ignores the match":  {func(s *Store) faulty { return ignoresMatch{s} }, true},
		"passes too much":    {func(s *Store) faulty { return passesTooMuch{s} }, true},
		"keeps dropped":      {func(s *Store) faulty { return keepsDropped{s} }, true},
		"never trims":        {func(s *Store) faulty { return neverTrims{s} }, true},
		"settles nothing":    {func(s *Store) faulty { return settlesNothing{s} }, true},
		"ignores delays":     {func(s *Store) faulty { return ignoresDelays{s} }, true},
		"ignores late":       {func(s *Store) faulty { return ignoresLate{s} }, true},
		"forgets cancels":    {func(s *Store) faulty { return forgetsCancels{s} }, true},
		"takes stale calls":  {func(s *Store) faulty { return takesStale{s} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := func() storagetest.Fixture {
				f := fixture(t)
				f.Store = fault.make(f.Store.(*Store))
				return f
			}
			if !finds(func() func(*rapid.T) { return storagetest.Machine(fixture(t), bad()) }) {
				t.Error("not found beside a good store")
			}
			if fault.alone && !finds(func() func(*rapid.T) { return storagetest.Machine(bad(), bad()) }) {
				t.Error("not found without a good store")
			}
		})
	}
}

// finds tells whether a machine fails in a moderate number of runs.
func finds(machine func() func(*rapid.T)) bool {
	for seed := range 500 {
		found := rapid.Custom(func(t *rapid.T) (failed bool) {
			defer func() {
				if t.Failed() {
					recover()
					failed = true
				}
			}()
			machine()(t)
			return false
		}).Example(seed)
		if found {
			return true
		}
	}
	return false
}
