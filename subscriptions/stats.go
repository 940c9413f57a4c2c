package subscriptions

import "context"

// Stats returns the counters of a subscription. NOT_FOUND; FAILED_PRECONDITION
// when it is detached and so has none.
func (s *Service) Stats(ctx context.Context, name SubscriptionName) (stats Stats, err error) {
	if err := name.Validate(); err != nil {
		return Stats{}, err
	}
	err = s.directory.withSubscription(ctx, name, func(sub Subscription) (err error) {
		if sub.Detached {
			return Errorf(FailedPrecondition, "%s is detached from its topic and has no backlog", name)
		}
		stats, err = s.statsOf(ctx, sub)
		return err
	})
	return stats, err
}

// statsOf reads the counters of a subscription with its state.
func (s *Service) statsOf(ctx context.Context, sub Subscription) (Stats, error) {
	stats, err := s.store.Stats(ctx, sub.Ref())
	stats.UpperBound = sub.selection() != nil && stats.Undelivered > 0
	return stats, err
}
