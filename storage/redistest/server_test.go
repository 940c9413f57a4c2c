package redistest

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestSharedIsOneServer(t *testing.T) {
	t.Parallel()
	a, b := Shared(t), Shared(t)
	if a != b {
		t.Fatal("two calls gave two servers")
	}
	if err := a.Client(t).Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if a.Addr() != "" {
		t.Errorf("the shared server listens on %s", a.Addr())
	}
}

func TestURLConnects(t *testing.T) {
	t.Parallel()
	servers := map[string]*Server{
		"unix":     Start(t),
		"tcp":      Start(t, TCP()),
		"password": Start(t, TCP(), Password("p@ss word/1")),
		"both":     Start(t, Password("p@ss word/1")),
	}
	for name, s := range servers {
		options, err := redis.ParseURL(s.URL())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		options.MaintNotificationsConfig, options.DisableIdentity = quiet(), true
		client := redis.NewClient(options)
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("%s: %s: %v", name, s.URL(), err)
		}
		_ = client.Close()
	}
}

func TestAppendOnlyOutlivesKill(t *testing.T) {
	t.Parallel()
	for fsync, want := range map[string]string{"": "", "always": "kept"} {
		var options []Option
		if fsync != "" {
			options = append(options, AppendOnly(fsync))
		}
		s := Start(t, options...)
		client := s.Client(t)
		if err := client.Set(t.Context(), "k", "kept", 0).Err(); err != nil {
			t.Fatal(err)
		}
		s.Kill(t)
		if err := client.Ping(t.Context()).Err(); err == nil {
			t.Error("a killed server answered")
		}
		s.Restart(t)
		if got := client.Get(t.Context(), "k").Val(); got != want {
			t.Errorf("appendfsync %q: got %q after a crash, want %q", fsync, got, want)
		}
	}
}

func TestStopAndRestartKeepAddress(t *testing.T) {
	t.Parallel()
	s := Start(t, TCP())
	url := s.URL()
	s.Stop(t)
	s.Restart(t)
	if s.URL() != url {
		t.Errorf("moved from %s to %s", url, s.URL())
	}
	if err := s.Client(t).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func TestCommandCallsCountsClients(t *testing.T) {
	t.Parallel()
	s := Start(t)
	client := s.Client(t)
	before := s.CommandCalls(t)
	for range 3 {
		client.Set(t.Context(), "k", "v", 0)
	}
	client.Info(t.Context(), "memory")
	client.Eval(t.Context(), "return redis.call('GET', KEYS[1])", []string{"k"})
	since := s.CommandCalls(t).Since(before)
	want := Calls{"set": 3, "info": 1, "eval": 1, "get": 1, "hello": 1}
	for command, count := range want {
		if since[command] != count {
			t.Errorf("%s: %d calls, want %d", command, since[command], count)
		}
	}
	if since.Total() != 7 {
		t.Errorf("%d calls in all: %v", since.Total(), since)
	}
}

func TestArgsReachRedis(t *testing.T) {
	t.Parallel()
	s := Start(t, Args("--maxmemory", "4mb"))
	if got := s.Info(t, "memory")["maxmemory"]; got != "4194304" {
		t.Errorf("maxmemory %s", got)
	}
	if got := s.Info(t, "memory")["maxmemory_policy"]; got != "noeviction" {
		t.Errorf("policy %s", got)
	}
	if s.UsedMemory(t) < 100_000 {
		t.Errorf("uses %d bytes", s.UsedMemory(t))
	}
}

func TestStartSaysWhyRedisEnded(t *testing.T) {
	t.Parallel()
	_, err := start(t, []Option{Args("--no-such-setting", "1")})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("got %v", err)
	}
}
