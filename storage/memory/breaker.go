package memory

import (
	"context"

	"postrider/subscriptions"
)

// keptBreaker is a circuit breaker that is open. Times are in milliseconds.
type keptBreaker struct {
	opened, probe int64
	probes        int
	endpoint      string
}

// Breaker implements subscriptions.Breakers.
func (s *Store) Breaker(_ context.Context, ref subscriptions.Ref) (b subscriptions.Breaker, err error) {
	err = s.onState(ref, func(st *state) {
		b = s.keptBreaker(st)
	})
	return b, err
}

// keptBreaker is what is kept of a breaker, at the time of the step.
func (s *Store) keptBreaker(st *state) subscriptions.Breaker {
	k := st.breaker
	if k == nil {
		return subscriptions.Breaker{}
	}
	return subscriptions.Breaker{
		Open: true, Endpoint: k.endpoint, Since: until(k.opened, s.now), Probe: until(s.now, k.probe), Probes: k.probes,
		OpenTime: timeOf(k.opened), ProbeTime: timeOf(k.probe),
	}
}

// KeepBreaker implements subscriptions.Breakers.
func (s *Store) KeepBreaker(_ context.Context, ref subscriptions.Ref, b subscriptions.Breaker) (kept bool, err error) {
	err = s.onState(ref, func(st *state) {
		if kept = st.breaker != nil || b.Probes == 0; !kept {
			return
		}
		opened := s.now - millis(b.Since)
		if b.Probes > 0 && st.breaker.endpoint == b.Endpoint {
			opened = st.breaker.opened
		}
		st.breaker = &keptBreaker{opened, s.now + millis(b.Probe), b.Probes, b.Endpoint}
	})
	return kept, err
}

// CloseBreaker implements subscriptions.Breakers.
func (s *Store) CloseBreaker(_ context.Context, ref subscriptions.Ref) (was bool, err error) {
	err = s.onState(ref, func(st *state) {
		if was = st.breaker != nil; was {
			st.breaker = nil
			s.wakeState(st, subscriptions.Revised, 0)
		}
	})
	return was, err
}
