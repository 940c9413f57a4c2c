package redisstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// fullAt is the share of maxmemory from which Health warns.
const fullAt = 0.8

// check refuses a Redis that would lose messages or lacks a command, and data of another version.
func (s *Store) check(ctx context.Context) error {
	err := s.eachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		info, err := infoOf(ctx, node)
		if err != nil {
			return err
		}
		return suitable(node.Options().Addr, info)
	})
	if err != nil {
		return err
	}
	if err := s.client.SetNX(ctx, s.keys.format(), formatVersion, 0).Err(); err != nil {
		return failed(ctx, "check the stored format", err)
	}
	format, err := s.client.Get(ctx, s.keys.format()).Result()
	if err != nil {
		return failed(ctx, "check the stored format", err)
	}
	if format != formatVersion {
		if err := unfinished(format); err != nil {
			return err
		}
		return fmt.Errorf("redis: %s is %q, but this Postrider knows only %q: a newer one wrote this data", s.keys.format(), format, formatVersion)
	}
	return nil
}

// suitable judges one server by its INFO.
func suitable(addr string, info map[string]string) error {
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return fmt.Errorf("redis at %s: version %s is too old: Postrider needs Redis 7 or later, or Valkey", addr, version)
	}
	if policy := info["maxmemory_policy"]; policy != "noeviction" {
		return fmt.Errorf("redis at %s: its maxmemory-policy is %s, which would throw messages away: "+
			"run CONFIG SET maxmemory-policy noeviction, and put it into redis.conf", addr, policy)
	}
	return nil
}

// Health fails while Redis cannot serve. The warnings say what puts messages at risk though it can.
func (s *Store) Health(ctx context.Context) (warnings []string, err error) {
	var mu sync.Mutex
	err = s.eachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		info, err := infoOf(ctx, node)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, risks(node.Options().Addr, info)...)
		return nil
	})
	if err == nil {
		err = s.whole(ctx)
	}
	return warnings, err
}

// whole fails with UNAVAILABLE while the store is one side of a move, on which most requests fail.
func (s *Store) whole(ctx context.Context) error {
	format, err := s.client.Get(ctx, s.keys.format()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return failed(ctx, "look whether the store is being moved", err)
	}
	if moving := unfinished(format); moving != nil {
		return subscriptions.Errorf(subscriptions.Unavailable, "%s", moving)
	}
	return nil
}

// risks lists what is wrong with one server that serves.
func risks(addr string, info map[string]string) []string {
	var found []string
	if info["aof_enabled"] != "1" {
		found = append(found, fmt.Sprintf("redis at %s has no append-only file: a restart loses messages; set appendonly yes", addr))
	}
	if info["aof_last_write_status"] == "err" {
		found = append(found, fmt.Sprintf("redis at %s cannot write its append-only file: is the disk full?", addr))
	}
	if policy := info["maxmemory_policy"]; policy != "noeviction" {
		found = append(found, fmt.Sprintf("redis at %s throws messages away when it is full: set maxmemory-policy noeviction, not %s", addr, policy))
	}
	used, err1 := strconv.ParseFloat(info["used_memory"], 64)
	limit, err2 := strconv.ParseFloat(info["maxmemory"], 64)
	if err1 == nil && err2 == nil && limit > 0 && used > fullAt*limit {
		found = append(found, fmt.Sprintf("redis at %s uses %.0f %% of its maxmemory: at 100 %% publishes are refused", addr, 100*used/limit))
	}
	return found
}

// eachMaster calls fn for every server that holds data.
func (s *Store) eachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	switch client := s.client.(type) {
	case *redis.ClusterClient:
		return client.ForEachMaster(ctx, fn)
	case *redis.Client:
		return fn(ctx, client)
	}
	return subscriptions.Errorf(subscriptions.Internal, "unknown kind of Redis client %T", s.client)
}

func infoOf(ctx context.Context, node *redis.Client) (map[string]string, error) {
	text, err := node.Info(ctx).Result()
	if err != nil {
		return nil, failed(ctx, "info", err)
	}
	return parseInfo(text), nil
}

// parseInfo reads the lines of INFO.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}
