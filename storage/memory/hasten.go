package memory

import (
	"context"

	"postrider/subscriptions"
)

// Hasten implements subscriptions.Waits.
func (s *Store) Hasten(_ context.Context, r subscriptions.HastenRequest) (next int64, err error) {
	err = s.onState(r.Ref, func(st *state) {
		st.max = r.Rules.MaxAttempts
		delays := delays{r.Rules.Retry, r.Jitter, 0}
		looked := 0
		for _, m := range st.all.items {
			if m.id.N() <= r.After {
				continue
			}
			if looked++; m.phase == waiting {
				if at := s.now + millis(delays.after(m, r.Rules)); at < m.at {
					st.put(m, waiting, at)
				}
			}
			if looked == stepMax {
				next = m.id.N()
				return
			}
		}
		next = -1
	})
	return next, err
}
