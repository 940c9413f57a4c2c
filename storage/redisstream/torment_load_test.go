//go:build load

package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redistest"
)

// TestLoadOrderUnderTorment is TestOrderUnderTorment with many messages of many keys. Many keys overflow on the way.
func TestLoadOrderUnderTorment(t *testing.T) {
	torment{
		messages: 200_000, keys: 10_000, hot: 100, outstanding: 20_000,
		deadline: 500 * time.Millisecond, crash: time.Second, limit: 5 * time.Minute,
	}.run(t, redistest.Start(t).URL())
}
