package redisstream

import (
	"context"

	"postrider/subscriptions"
)

var (
	breakerScript      = newScript("breaker", with(onSubscription, "kept_breaker")...)
	keepBreakerScript  = newScript("keep_breaker", onSubscription...)
	closeBreakerScript = newScript("close_breaker", onSubscription...)
)

// Breaker implements subscriptions.Breakers.
func (s *Store) Breaker(ctx context.Context, ref subscriptions.Ref) (b subscriptions.Breaker, err error) {
	f, err := s.onState(ctx, breakerScript, ref)
	if err != nil || len(f.rest) == 0 {
		return b, err
	}
	return f.breaker(), f.err
}

// breaker reads what kept_breaker.lua gives.
func (f *fields) breaker() subscriptions.Breaker {
	return subscriptions.Breaker{
		Open: true, Since: millis(f.int()), Probe: millis(f.int()), Probes: int(f.int()), Endpoint: f.text(),
		OpenTime: f.time(), ProbeTime: f.time(),
	}
}

// KeepBreaker implements subscriptions.Breakers.
func (s *Store) KeepBreaker(ctx context.Context, ref subscriptions.Ref, b subscriptions.Breaker) (bool, error) {
	f, err := s.onState(ctx, keepBreakerScript, ref, wholeMillis(b.Since), wholeMillis(b.Probe), b.Probes, b.Endpoint)
	if err != nil {
		return false, err
	}
	return f.int() == 1, f.err
}

// CloseBreaker implements subscriptions.Breakers.
func (s *Store) CloseBreaker(ctx context.Context, ref subscriptions.Ref) (bool, error) {
	f, err := s.onState(ctx, closeBreakerScript, ref)
	if err != nil {
		return false, err
	}
	return f.int() == 1, f.err
}
