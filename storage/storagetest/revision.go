package storagetest

import (
	"context"
	"errors"
	"time"

	"postrider/subscriptions"
)

var revising = []check{
	{"a topic's revision", topicRevision},
	{"a subscription's revision", subscriptionRevision},
	{"a stale call changes nothing", staleChangesNothing},
	{"without state", withoutState},
}

// calls are all that carry a Ref, with something to do for each.
func (s *sub) calls(ref subscriptions.Ref, d subscriptions.Delivery) map[string]func(context.Context) error {
	rs := receipts([]subscriptions.Delivery{d})
	return map[string]func(context.Context) error{
		"Attach": func(ctx context.Context) error { return s.Store.Attach(ctx, ref, s.name) },
		"Revise": func(ctx context.Context) error { return s.Store.Revise(ctx, ref) },
		"Seize":  func(ctx context.Context) error { _, err := s.Store.Seize(ctx, ref, rs[0], time.Minute); return err },
		"Blocked": func(ctx context.Context) error {
			_, err := s.Store.Blocked(ctx, subscriptions.BlocksRequest{Ref: ref, Max: 1})
			return err
		},
		"Breaker": func(ctx context.Context) error { _, err := s.Store.Breaker(ctx, ref); return err },
		"KeepBreaker": func(ctx context.Context) error {
			_, err := s.Store.KeepBreaker(ctx, ref, subscriptions.Breaker{Open: true})
			return err
		},
		"CloseBreaker": func(ctx context.Context) error { _, err := s.Store.CloseBreaker(ctx, ref); return err },
		"Stats":        func(ctx context.Context) error { _, err := s.Store.Stats(ctx, ref); return err },
		"Lease": func(ctx context.Context) error {
			r := s.request(10)
			r.Ref = ref
			_, err := s.Store.Lease(ctx, r)
			return err
		},
		"Acknowledge": func(ctx context.Context) error { return s.Store.Acknowledge(ctx, ref, rs) },
		"Confirm":     func(ctx context.Context) error { _, err := s.Store.Confirm(ctx, ref, rs); return err },
		"Extend":      func(ctx context.Context) error { _, err := s.Store.Extend(ctx, ref, rs, time.Hour); return err },
		"Nack": func(ctx context.Context) error {
			_, err := s.Store.Nack(ctx, subscriptions.NackRequest{Ref: ref, Rules: s.rules, Nacks: []subscriptions.Nack{{Receipt: rs[0]}}})
			return err
		},
		"ReportPush": func(ctx context.Context) error {
			return s.Store.ReportPush(ctx, ref, subscriptions.PushReport{}, time.Minute)
		},
		"PushReport": func(ctx context.Context) error { _, err := s.Store.PushReport(ctx, ref); return err },
		"Hasten": func(ctx context.Context) error {
			_, err := s.Store.Hasten(ctx, subscriptions.HastenRequest{Ref: ref, Rules: s.rules})
			return err
		},
		"AskPush":  func(ctx context.Context) error { return s.Store.AskPush(ctx, ref) },
		"Attempts": func(ctx context.Context) error { _, err := s.Store.Attempts(ctx, ref, rs); return err },
		"Release": func(ctx context.Context) error {
			return s.Store.Release(ctx, ref, releases(rs, subscriptions.Failure{}))
		},
		"Sweep": func(ctx context.Context) error {
			_, err := s.Store.Sweep(ctx, subscriptions.SweepRequest{Ref: ref, Rules: s.rules, Max: 10, Hold: hold})
			return err
		},
		"SettleDead": func(ctx context.Context) error { return s.Store.SettleDead(ctx, ref, rs) },
	}
}

func topicRevision(r *rig) {
	t, _ := r.one()
	calls := map[string]func(subscriptions.TopicRef) error{
		"OpenTopic": func(ref subscriptions.TopicRef) error { return r.Store.OpenTopic(r.Context(), ref) },
		"Publish": func(ref subscriptions.TopicRef) error {
			_, err := r.Store.Publish(r.Context(), ref, letters("a"))
			return err
		},
		"AppendDead": func(ref subscriptions.TopicRef) error {
			return r.Store.AppendDead(r.Context(), ref, "s", letters("a"), day)
		},
	}
	for _, adopter := range []string{"OpenTopic", "Publish", "AppendDead"} {
		t.ref.Revision += 10
		r.ok(calls[adopter](t.ref))
		for name, call := range calls {
			if err := call(subscriptions.TopicRef{UID: t.ref.UID, Revision: t.ref.Revision - 1}); !errors.Is(err, subscriptions.ErrStale) {
				r.Errorf("%s after %s: got %v, want ErrStale", name, adopter, err)
			}
			r.ok(call(t.ref))
		}
	}
}

func subscriptionRevision(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	d := s.leases(1, "a")[0]
	for adopter := range s.calls(s.ref, d) {
		s.ref.Revision += 10
		r.ok(s.calls(s.ref, d)[adopter](r.Context()))
		stale := s.ref
		stale.Revision--
		for name, call := range s.calls(stale, d) {
			if err := call(r.Context()); !errors.Is(err, subscriptions.ErrStale) {
				r.Errorf("%s after %s: got %v, want ErrStale", name, adopter, err)
			}
		}
	}
}

func staleChangesNothing(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	d := s.leases(1, "a")[0]
	before := s.stats()
	stale := s.ref
	s.ref.Revision++
	r.ok(r.Store.Revise(r.Context(), s.ref))
	for _, call := range s.calls(stale, d) {
		r.is(call(r.Context()), subscriptions.ErrStale)
	}
	same(r, "stats", s.stats(), before)
	stale.Subscription = unique("s")
	r.ok(r.Store.Attach(r.Context(), stale, s.name)) // each has its own
}

func withoutState(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	for _, ref := range []subscriptions.Ref{
		{Topic: t.ref.UID, Subscription: unique("s"), Revision: 1},
		{Topic: unique("t"), Subscription: s.ref.Subscription, Revision: 1},
	} {
		for name, call := range s.calls(ref, d) {
			if name == "Attach" {
				continue // makes it
			}
			if err := call(r.Context()); !errors.Is(err, subscriptions.ErrGone) {
				r.Errorf("%s: got %v, want ErrGone", name, err)
			}
		}
		r.ok(r.Store.Drop(r.Context(), ref.Topic, ref.Subscription))
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 1})
}
