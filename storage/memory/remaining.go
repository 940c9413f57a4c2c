package memory

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// Remaining implements subscriptions.Leases.
func (s *Store) Remaining(_ context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) ([]time.Duration, error) {
	left := make([]time.Duration, len(receipts))
	return left, s.onState(ref, func(st *state) {
		for i, r := range receipts {
			if m := st.held(r, s.now); m != nil {
				left[i] = until(s.now, m.at)
			}
		}
	})
}
