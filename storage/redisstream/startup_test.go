package redisstream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
)

// refused checks that a store does not open, and that the error has all of these words.
func refused(t *testing.T, url string, words ...string) {
	t.Helper()
	s, err := redisstream.Open(t.Context(), url, redisstream.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatalf("opened; want an error with %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
}

func TestEvictionIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Args("--maxmemory-policy", "allkeys-lru"))
	refused(t, server.URL(), "allkeys-lru", "CONFIG SET maxmemory-policy noeviction")
	if err := server.Client(t).ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
		t.Fatal(err)
	}
	open(t, server.URL(), redisstream.Options{})
}

func TestEvictionIsRefusedOnEveryMaster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	last := cluster.Nodes[2]
	if err := last.Client(t).ConfigSet(t.Context(), "maxmemory-policy", "volatile-ttl").Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, cluster.URL(), "volatile-ttl", last.Addr())
}

// TestCommandsForbidden runs on a Redis that has neither CONFIG nor what only an administrator may do, as hosted ones do.
func TestCommandsForbidden(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Args("--rename-command", "CONFIG", "", "--user", "default", "on", "nopass", "~*", "&*",
		"+@all", "-@dangerous", "+info"))
	roundTrip(attach(t, open(t, server.URL(), redisstream.Options{}), "topic"))
}

func TestUnknownFormatIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	open(t, server.URL(), redisstream.Options{Prefix: "postrider:"})
	if got := client.Get(t.Context(), "postrider:{fleet}:format").Val(); got != "1" {
		t.Errorf("the format is %q", got)
	}
	if err := client.Set(t.Context(), "postrider:{fleet}:format", "2", 0).Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, server.URL(), "postrider:{fleet}:format", `"2"`)
}

// TestUnknownVersionsAreNamed is about single keys that a newer Postrider wrote while this one ran.
func TestUnknownVersionsAreNamed(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{})
	x := attach(t, s, "topic")
	for key, call := range map[string]func() error{
		"{topic:0}:meta": func() error {
			_, err := s.Publish(t.Context(), x.topic, messages(1))
			return err
		},
		"{topic:0}:s:topic-sub": func() error { return s.Revise(t.Context(), x.ref) },
	} {
		if err := s.Client().HSet(t.Context(), s.Prefix()+key, "v", "2").Err(); err != nil {
			t.Fatal(err)
		}
		if err := call(); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s of version 2 gives %v", key, err)
		}
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Password("right"))
	refused(t, "unix://:s3cret@"+server.Socket(), "WRONGPASS")
	refused(t, "unix://"+server.Socket(), "NOAUTH")
	roundTrip(attach(t, open(t, server.URL(), redisstream.Options{}), "topic"))
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := redisstream.Open(ctx, "redis://:s3cret@127.0.0.1:1", redisstream.Options{})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AppendOnly("everysec"))
	client := server.Client(t)
	s := open(t, server.URL(), redisstream.Options{})
	warns := func(words ...string) {
		t.Helper()
		warnings, err := s.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(warnings, "\n")
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%q is not in %q", word, text)
			}
		}
		if len(warnings) != len(words) {
			t.Errorf("warnings: %q", warnings)
		}
	}
	set := func(name, value string) {
		t.Helper()
		if err := client.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	warns()
	set("maxmemory", "2mb") // an empty Redis uses about 1 MB
	warns()
	set("maxmemory", "1100000")
	warns("maxmemory")
	set("appendonly", "no")
	set("maxmemory-policy", "allkeys-random")
	warns("append-only", "noeviction", "publishes are refused")
	server.Stop(t)
	if _, err := s.Health(t.Context()); err == nil {
		t.Error("healthy without Redis")
	}
}
