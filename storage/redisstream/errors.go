package redisstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// retryWhenFull is what a publisher is told to wait when Redis has no memory left: about as long as subscribers need to
// drain something.
const retryWhenFull = 5 * time.Second

// retryWhenAway is what a caller is told to wait when Redis cannot be reached: about as long as one that died needs to be
// back.
const retryWhenAway = time.Second

// passing are the first words of error replies that say that Redis cannot serve now, though it may soon. They are part of
// its protocol, as status codes are of HTTP.
var passing = []string{
	"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "MISCONF", "NOREPLICAS", "MOVED", "ASK",
	"NOAUTH", "WRONGPASS", "NOPERM", "ERR max number of clients",
}

// failed puts an error of Redis or of the way to it into the store's words. A caller whose context has ended is told so,
// whatever go-redis made of it.
func failed(ctx context.Context, what string, err error) error {
	var reply redis.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return subscriptions.WrapError(errors.Join(ctx.Err(), err), subscriptions.Canceled, "the request was cancelled")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return subscriptions.WrapError(errors.Join(ctx.Err(), err), subscriptions.DeadlineExceeded, "the store took too long")
	case redis.HasErrorPrefix(err, "OOM"):
		full := subscriptions.WrapError(err, subscriptions.ResourceExhausted, "the store is full")
		full.RetryAfter = retryWhenFull
		return full
	case !errors.As(err, &reply):
		return unavailable(what, err)
	}
	for _, word := range passing {
		if redis.HasErrorPrefix(err, word) {
			return unavailable(what, err)
		}
	}
	return fmt.Errorf("redisstream: %s: %w", what, err)
}

// retryWhenMoving is what callers are told to wait while what they ask for is being moved to another store. It ends when the
// operator points the servers to that one.
const retryWhenMoving = 5 * time.Second

func errMoving() error {
	err := subscriptions.Errorf(subscriptions.Unavailable, "the topic is being moved to another store")
	err.RetryAfter = retryWhenMoving
	return err
}

func unavailable(what string, err error) error {
	away := subscriptions.WrapError(fmt.Errorf("redisstream: %s: %w", what, err), subscriptions.Unavailable, "the store cannot be reached")
	away.RetryAfter = retryWhenAway
	return away
}
