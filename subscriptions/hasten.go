package subscriptions

import "context"

// HastenRequest asks that nothing waits for longer than the retry policy says.
type HastenRequest struct {
	Ref
	Rules Rules
	// After is the number in the log after which to begin.
	After  int64
	Jitter float64
}

// Waits are how long messages wait for their retry.
type Waits interface {
	// Hasten looks at a bounded number of outstanding messages, in order of the
	// log: those that wait for longer than their delay by the Rules would be from
	// now wait that long. next is where to go on; negative at the end.
	Hasten(context.Context, HastenRequest) (next int64, err error)
}

// hasten forgets what an endpoint asked for with Retry-After: what waits for it
// waits as its retry policy says, from now.
func (s *Service) hasten(ctx context.Context, sub Subscription) error {
	for next := int64(0); next >= 0; {
		var err error
		next, err = s.store.Hasten(ctx, HastenRequest{Ref: sub.Ref(), Rules: sub.Rules(s.outstanding), After: next, Jitter: jitter()})
		if err != nil {
			return err
		}
	}
	return nil
}
