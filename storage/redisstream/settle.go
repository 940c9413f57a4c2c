package redisstream

import (
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

// scriptMax is how many messages one script handles at most.
const scriptMax = 200

var (
	acknowledgeScript = newScript("acknowledge", with(onSubscription, "trim_log", "outstanding")...)
	extendScript      = newScript("extend", with(onSubscription, "receipts")...)
	releaseScript     = newScript("release", with(onSubscription, "receipts")...)
	nackScript        = newScript("nack", with(onSubscription, "rules", "receipts")...)
)

// Acknowledge implements subscriptions.Leases.
func (s *Store) Acknowledge(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return s.settle(ctx, ref, receipts, "acked")
}

// SettleDead implements subscriptions.DeadLetters.
func (s *Store) SettleDead(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return s.settle(ctx, ref, receipts, "moved")
}

func (s *Store) settle(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt, counter string) error {
	return inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		args := []any{counter}
		for _, r := range chunk {
			args = append(args, member(r.ID), r.Epoch, r.Size)
		}
		_, err := s.onState(ctx, acknowledgeScript, ref, args...)
		return err
	})
}

// Extend implements subscriptions.Leases.
func (s *Store) Extend(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt, d time.Duration) error {
	return inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		_, err := s.onState(ctx, extendScript, ref, append([]any{wholeMillis(d)}, numbered(chunk)...)...)
		return err
	})
}

// Release implements subscriptions.Leases.
func (s *Store) Release(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) error {
	return inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		_, err := s.onState(ctx, releaseScript, ref, numbered(chunk)...)
		return err
	})
}

// Nack implements subscriptions.Leases.
func (s *Store) Nack(ctx context.Context, r subscriptions.NackRequest) error {
	var failures int64
	return inChunks(r.Nacks, func(chunk []subscriptions.Nack) error {
		args := rules(r.Rules, r.Jitter, failures)
		for _, n := range chunk {
			args = append(args, member(n.ID), n.Number, n.Epoch, wholeMillis(n.AtLeast))
		}
		f, err := s.onState(ctx, nackScript, r.Ref, args...)
		if err != nil {
			return err
		}
		failures = f.int()
		return f.err
	})
}

// numbered are the arguments of receipts that act on their own delivery only.
func numbered(receipts []subscriptions.Receipt) []any {
	args := make([]any, 0, 3*len(receipts))
	for _, r := range receipts {
		args = append(args, member(r.ID), r.Number, r.Epoch)
	}
	return args
}

// inChunks calls fn with as many items as a script may handle, until all are done or one call fails; none also is a call,
// since it checks the reference. What earlier calls settled stays settled, which is what each receipt asked for.
func inChunks[T any](items []T, fn func([]T) error) error {
	if len(items) == 0 {
		return fn(nil)
	}
	for chunk := range slices.Chunk(items, scriptMax) {
		if err := fn(chunk); err != nil {
			return err
		}
	}
	return nil
}
