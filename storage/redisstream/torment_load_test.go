//go:build load

package redisstream_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"postrider/storage/redistest"
)

// TestLoadOrderUnderTorment is TestOrderUnderTorment with many messages of many keys: 100,000, or TORMENT. Many keys overflow
// on the way.
func TestLoadOrderUnderTorment(t *testing.T) {
	messages := 100_000
	if text := os.Getenv("TORMENT"); text != "" {
		var err error
		if messages, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	torment{
		messages: messages, keys: 10_000, hot: 100, outstanding: 20_000,
		deadline: 500 * time.Millisecond, crash: time.Second, limit: time.Duration(messages) * 3 * time.Millisecond,
	}.run(t, redistest.Start(t).URL())
}
