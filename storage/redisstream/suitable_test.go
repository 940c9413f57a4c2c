package redisstream

import (
	"strings"
	"testing"
)

func TestSuitable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		info map[string]string
		want string // part of the error; empty for none
	}{
		{map[string]string{"redis_version": "7.0.0", "maxmemory_policy": "noeviction"}, ""},
		{map[string]string{"redis_version": "8.2.1", "maxmemory_policy": "noeviction"}, ""},
		{map[string]string{"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.0.1", "maxmemory_policy": "noeviction"}, ""},
		{map[string]string{"redis_version": "10.0.0", "maxmemory_policy": "noeviction"}, ""},
		{map[string]string{"redis_version": "6.2.14", "maxmemory_policy": "noeviction"}, "6.2.14 is too old"},
		{map[string]string{"maxmemory_policy": "noeviction"}, "too old"},
		{map[string]string{"redis_version": "7.0.0", "maxmemory_policy": "volatile-lru"}, "volatile-lru"},
	} {
		err := suitable("addr", c.info)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.info, err)
		}
	}
}
