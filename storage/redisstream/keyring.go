package redisstream

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

var replaceKeysScript = newScript("replace_keys")

// SigningKeys implements subscriptions.KeyRing.
func (s *Store) SigningKeys(ctx context.Context) (string, error) {
	text, err := s.client.Get(ctx, s.keys.signing()).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return text, failed(ctx, "read the signing keys", err)
}

// ReplaceSigningKeys implements subscriptions.KeyRing.
func (s *Store) ReplaceSigningKeys(ctx context.Context, was, next string) error {
	reply, err := s.run(ctx, replaceKeysScript, []string{s.keys.signing()}, was, next)
	if err != nil {
		return err
	}
	f := fields{name: replaceKeysScript.name, rest: reply}
	if f.int() != 1 && f.err == nil {
		return subscriptions.Errorf(subscriptions.Aborted, "another server replaced the signing keys")
	}
	return f.err
}
