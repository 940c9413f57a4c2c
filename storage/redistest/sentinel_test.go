package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestSentinelReplacesKilledMaster(t *testing.T) {
	t.Parallel()
	s := Sentinel(t)
	client := s.Client(t)
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Wait(t.Context(), 1, patience).Err(); err != nil {
		t.Fatal(err)
	}
	s.Master.Kill(t)
	s.WaitForOther(t, s.Master.Addr())
	if got := s.MasterAddr(t); got != s.Replica.Addr() {
		t.Errorf("master is %s", got)
	}
	if got := s.Replica.Client(t).Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("the replica holds %q", got)
	}
	err := poll(func() error { return client.Set(t.Context(), "k", "w", 0).Err() })
	if err != nil {
		t.Errorf("write after the failover: %v", err)
	}
}

func TestSentinelFailsOverOnRequest(t *testing.T) {
	t.Parallel()
	s := Sentinel(t, Password("secret"), Args("--masterauth", "secret"))
	s.Failover(t)
	options, err := redis.ParseFailoverURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.DisableIdentity = true
	client := redis.NewFailoverClient(options)
	defer client.Close()
	if err := poll(func() error { return client.Set(t.Context(), "k", "v", 0).Err() }); err != nil {
		t.Error(err)
	}
}
