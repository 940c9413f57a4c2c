package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"postrider/storage/memory"
	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

// store is where messages are kept, with what the server says about it.
type store struct {
	subscriptions.Store
	place  string // for people, without secrets
	health func(context.Context) (ready bool, reasons []string)
	run    func(context.Context) error // looks after the place until ctx ends
	close  func() error
}

func openStore(ctx context.Context, config Config, log *slog.Logger) (store, error) {
	switch {
	case config.DataDir != "":
		return privateStore(ctx, config, log)
	case config.RedisURL != "":
		return redisStore(ctx, config.RedisURL, log)
	}
	return memoryStore(), nil
}

func memoryStore() store {
	return store{
		Store: memory.New(memory.Options{}),
		place: "memory",
		health: func(context.Context) (bool, []string) {
			return true, []string{"nothing survives a stop of this server (--data-dir or --redis-url keeps messages)"}
		},
		run:   func(context.Context) error { return nil },
		close: func() error { return nil },
	}
}

// The pauses between attempts to reach Redis at start, and the bound on asking how it is.
const (
	firstPause    = 200 * time.Millisecond
	longestPause  = 5 * time.Second
	healthTimeout = 2 * time.Second
)

// redisStore waits for a Redis that is not there yet, as when both are started together, until ctx ends. What waiting
// cannot mend fails at once.
func redisStore(ctx context.Context, url string, log *slog.Logger) (store, error) {
	place := redisPlace(url)
	pauses := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(longestPause), backoff.WithMaxElapsedTime(0))
	opened, err := backoff.RetryNotifyWithData(func() (*redisstream.Store, error) {
		s, err := redisstream.Open(ctx, url, redisstream.Options{Log: log})
		if err != nil && !mayPass(err) {
			return nil, backoff.Permanent(err)
		}
		return s, err
	}, backoff.WithContext(pauses, ctx), func(err error, pause time.Duration) {
		log.Warn("waiting for Redis", "at", place, "again_in", pause.Round(time.Millisecond), "error", err)
	})
	if err != nil {
		return store{}, fmt.Errorf("open the store in %s: %w", place, err)
	}
	return store{
		Store: opened,
		place: place,
		health: func(ctx context.Context) (bool, []string) {
			ctx, cancel := context.WithTimeout(ctx, healthTimeout)
			defer cancel()
			warnings, err := opened.Health(ctx)
			if err != nil {
				return false, []string{place + ": " + publicText(err)}
			}
			return true, warnings
		},
		run:   func(context.Context) error { return nil },
		close: opened.Close,
	}, nil
}

// mayPass tells whether Redis may answer well a little later: it cannot be reached, or still loads its data.
func mayPass(err error) bool {
	return errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) ||
		subscriptions.CodeOf(err) == subscriptions.Unavailable || redis.HasErrorPrefix(err, "LOADING")
}

// publicText is what anybody may read of an error.
func publicText(err error) string {
	var e *subscriptions.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "the store failed"
}

// redisPlace is where a Redis is, without what else stands in its URL.
func redisPlace(url string) string {
	o, err := redisstream.ParseURL(url)
	if err != nil {
		return "Redis"
	}
	place := "Redis at " + strings.Join(o.Addrs, ",")
	if o.MasterName != "" {
		place += " as " + o.MasterName
	}
	if o.DB != 0 {
		place += fmt.Sprintf(" (database %d)", o.DB)
	}
	return place
}
