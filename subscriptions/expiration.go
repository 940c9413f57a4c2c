package subscriptions

import (
	"context"
	"time"
)

// ServerExpiration is the Expiration of a request that leaves it to the server:
// Options.Expiration.
const ServerExpiration time.Duration = -1

// NeverExpires is the Options.Expiration with which subscriptions stay for ever.
const NeverExpires time.Duration = -1

// expiryNotice is how long before it a subscription's expiration is warned of,
// but for less than two weeks of Expiration half of that.
const expiryNotice = 7 * 24 * time.Hour

// withExpiration puts the server's default in place of ServerExpiration.
func (s *Service) withExpiration(sub Subscription) Subscription {
	if sub.Expiration == ServerExpiration {
		sub.Expiration = max(s.expiration, 0)
	}
	return sub
}

// expires tells how long a subscription that was not used for a while has left,
// and whether that is so little that it is warned of. It is never without an
// Expiration.
func (s Subscription) expires(unused time.Duration) (left time.Duration, soon bool) {
	left = max(0, s.Expiration-unused)
	return left, s.Expiration > 0 && left <= min(expiryNotice, s.Expiration/2)
}

// noteUse counts an operation that is done as a use of the subscription, where
// the step that does it is none.
func (s *Service) noteUse(ctx context.Context, sub Subscription) {
	if err := s.store.Revise(ctx, sub.Ref()); !outdated(err) { // who made it so used it, too
		s.logFailure(ctx, "note that a subscription is used", sub.Name.String(), err)
	}
}

// withExpiry finds out which subscriptions expire soon, and when.
func (s *Service) withExpiry(ctx context.Context, subs []Subscription) error {
	var refs []Ref
	var places []int
	for i, sub := range subs {
		if subs[i].Expires = (time.Time{}); sub.Expiration > 0 && !sub.Detached {
			refs, places = append(refs, sub.Ref()), append(places, i)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	unused, err := s.store.Unused(ctx, refs)
	if err != nil {
		return err
	}
	for at, i := range places {
		if left, soon := subs[i].expires(unused[at]); soon {
			subs[i].Expires = expiryTime(left)
		}
	}
	return nil
}

// expiryTime is when so much will have passed, for people.
func expiryTime(left time.Duration) time.Time {
	return time.Now().Add(left).UTC().Truncate(time.Second)
}
