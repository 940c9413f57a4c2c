package subscriptions

import (
	"context"
	"slices"
	"sync"
	"time"
)

// expiringAge is how old the answer of Expiring may be: a subscription expires
// after days, and to look costs a command for each that can.
const expiringAge = 5 * time.Minute

// expiringBatch is how many subscriptions are looked at together.
const expiringBatch = 1000

// expiring is who expires soon, as it was found last.
type expiring struct {
	mu    sync.Mutex
	at    time.Time
	found []Subscription
}

// Expiring returns the subscriptions of all projects that will soon be deleted
// unless they are used, the first to go first, as of some minutes ago; Expires
// says when. What it returns is shared: nobody may change it. It needs a Service
// that Runs. UNAVAILABLE.
func (s *Service) Expiring(ctx context.Context) ([]Subscription, error) {
	e := &s.expiring
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.at.IsZero() && time.Since(e.at) < expiringAge {
		return e.found, nil
	}
	var found []Subscription
	for batch := range slices.Chunk(s.fleet.expirable(), expiringBatch) {
		if err := s.withExpiry(ctx, batch); err != nil {
			return nil, err
		}
		for _, sub := range batch {
			if !sub.Expires.IsZero() {
				found = append(found, sub)
			}
		}
	}
	slices.SortFunc(found, func(a, b Subscription) int { return a.Expires.Compare(b.Expires) })
	e.at, e.found = time.Now(), found
	return found, nil
}

// expirable are the records of subscriptions that expire if nobody uses them.
func (f *fleet) expirable() (all []Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sub := range f.subscriptions {
		if sub.Phase == Active && !sub.Detached && sub.Expiration > 0 {
			all = append(all, sub)
		}
	}
	return all
}
