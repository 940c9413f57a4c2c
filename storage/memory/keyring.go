package memory

import (
	"context"

	"postrider/subscriptions"
)

// SigningKeys implements subscriptions.KeyRing.
func (s *Store) SigningKeys(context.Context) (string, error) {
	s.begin()
	defer s.end()
	return s.signingKeys, nil
}

// ReplaceSigningKeys implements subscriptions.KeyRing.
func (s *Store) ReplaceSigningKeys(_ context.Context, was, next string) error {
	s.begin()
	defer s.end()
	if s.signingKeys != was {
		return subscriptions.Errorf(subscriptions.Aborted, "another server replaced the signing keys")
	}
	s.signingKeys = next
	return nil
}
