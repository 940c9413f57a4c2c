package redisstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Bounds on the way to Redis. A command may be a publish of 10 MB.
const (
	dialTimeout    = 5 * time.Second
	commandTimeout = 10 * time.Second
)

// dial makes the client that suits what answers at the URL.
func dial(ctx context.Context, url string, options Options) (redis.UniversalClient, error) {
	o, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if options.CAFile != "" {
		if o.TLSConfig == nil {
			return nil, errors.New("certificates for Redis: the URL must begin with rediss")
		}
		if err := trust(o, options.CAFile); err != nil {
			return nil, err
		}
	}
	common(o, options)
	if o.MasterName != "" {
		return redis.NewFailoverClient(failover(o)), nil
	}
	client := redis.NewClient(simple(o))
	mode, err := modeOf(ctx, client)
	if err == nil && mode == "cluster" {
		_ = client.Close()
		return redis.NewClusterClient(cluster(o)), nil
	}
	if err == nil && mode == "sentinel" {
		err = errors.New("redis URL: this is a sentinel, not a Redis: use redis+sentinel://HOST:PORT/MASTER")
	}
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

// common are the settings of every kind of client. Nothing is retried: go-redis cannot know whether a command whose
// connection broke was run, and most of ours must not run twice.
func common(o *redis.UniversalOptions, options Options) {
	o.MaxRetries = -1
	o.DialTimeout = dialTimeout
	o.DialerRetries = 1
	o.ReadTimeout, o.WriteTimeout = commandTimeout, commandTimeout
	o.ContextTimeoutEnabled = true
	o.PoolSize = options.PoolSize
	o.DisableIdentity = true // Redis 7.0 knows neither
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func simple(o *redis.UniversalOptions) *redis.Options {
	so := o.Simple()
	if strings.HasPrefix(so.Addr, "/") {
		so.Network = "unix"
	}
	return so
}

func failover(o *redis.UniversalOptions) *redis.FailoverOptions { return o.Failover() }

func cluster(o *redis.UniversalOptions) *redis.ClusterOptions {
	co := o.Cluster()
	co.DisableRoutingPolicies = true // they ask Redis about each command first; ours all name their keys
	return co
}

// modeOf is "standalone", "cluster" or "sentinel".
func modeOf(ctx context.Context, client *redis.Client) (string, error) {
	text, err := client.Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("redis: ask what is there: %w", err)
	}
	return parseInfo(text)["redis_mode"], nil
}
