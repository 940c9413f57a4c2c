package main

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"postrider/storage/private"
)

// privateStore keeps messages in a Redis of this server's own.
func privateStore(ctx context.Context, config Config, log *slog.Logger) (store, error) {
	redis, err := private.Open(ctx, private.Options{
		Dir: config.DataDir, MaxMemory: config.MaxMemory, AppendFsync: config.Fsync, Logger: log,
	})
	if err != nil {
		return store{}, err
	}
	s, err := openOn(ctx, redis, log)
	if err != nil {
		return store{}, errors.Join(err, redis.Close())
	}
	s.place = "a private Redis in " + redis.Dir()
	s.run = redis.Run
	closeStore := s.close
	s.close = func() error { return errors.Join(closeStore(), redis.Close()) }
	health := s.health
	s.health = func(ctx context.Context) (bool, []string) {
		status := redis.Status()
		if !status.Up {
			return false, []string{s.place + ": " + status.Why}
		}
		ready, reasons := health(ctx)
		if len(status.Warnings) > 0 { // they are the cause of what the store would warn of
			reasons = status.Warnings
		}
		return ready, reasons
	}
	return s, nil
}

// openOn opens the store, with Redis looked after meanwhile: on a full disk it may die of the first write.
func openOn(ctx context.Context, redis *private.Server, log *slog.Logger) (s store, err error) {
	opening, opened := context.WithCancel(ctx)
	var parts errgroup.Group
	parts.Go(func() error { return redis.Run(opening) })
	s, err = redisStore(ctx, redis.URL(), log)
	opened()
	return s, errors.Join(err, parts.Wait())
}
