package redisstream_test

import (
	"testing"

	"go.uber.org/goleak"

	"postrider/storage/redistest"
)

func TestMain(m *testing.M) {
	// After many failed dials go-redis tries by itself once a second; it ends up to a second after its pool is closed.
	goleak.VerifyTestMain(redistest.Wrap(m),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
