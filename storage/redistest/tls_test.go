package redistest

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestTLSIsChecked(t *testing.T) {
	t.Parallel()
	s := TLS(t, Password("secret"))
	if err := s.Client(t).Ping(t.Context()).Err(); err != nil {
		t.Errorf("with the authority: %v", err)
	}
	if _, err := os.Stat(s.CAFile()); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(s.URL(), "rediss://:secret@127.0.0.1:") {
		t.Errorf("URL %s", s.URL())
	}
	for name, change := range map[string]func(*redis.Options){
		"without the authority": func(o *redis.Options) { o.TLSConfig.RootCAs = nil },
		"in plain text":         func(o *redis.Options) { o.TLSConfig = nil },
	} {
		options := s.Options()
		change(options)
		options.MaxRetries = -1
		client := redis.NewClient(options)
		if err := client.Ping(t.Context()).Err(); err == nil {
			t.Errorf("%s: connected", name)
		}
		_ = client.Close()
	}
}
