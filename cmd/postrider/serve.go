package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/spf13/cobra"
)

func newServe(p process) *cobra.Command {
	var config Config
	flags := serverFlags(&config)
	c := &cobra.Command{
		Use: "serve", Short: "Run the server", GroupID: groupServer, Args: noArgs,
		Long: `Run the server. It answers REST and gRPC on one port.

Every flag can also be given in the environment, as POSTRIDER_ and its name in capitals with underscores, or in the file of
--config, by its name. The command line wins over the environment, and that over the file.

SIGTERM and SIGINT stop it: requests and pushes under way may finish for --drain-timeout, what is not done by then is given
back to be delivered again. A second signal ends it at once.`,
		Example: `  postrider serve
  postrider serve --data-dir /var/lib/postrider
  POSTRIDER_REDIS_URL=redis://:password@redis.internal:6379/0 postrider serve
  postrider serve --listen 0.0.0.0:8085 --allow-unauthenticated --allowed-host pubsub.internal`,
	}
	c.Flags().AddFlagSet(flags)
	c.Flags().SortFlags = false
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := loadSettings(flags, p.environ); err != nil {
			return err
		}
		if err := config.validate(func(name string) bool { return flags.Lookup(name).Changed }); err != nil {
			return err
		}
		return serve(c.Context(), config, p)
	}
	return c
}

// serve runs a server until ctx ends.
func serve(ctx context.Context, config Config, p process) error {
	defer runtime.KeepAlive(spareHeap(p))
	log := newLogger(p.err, config)
	a, err := newApp(ctx, config, log)
	if err != nil {
		return err
	}
	a.announce(ctx)
	if err := a.Run(ctx); err != nil {
		return err
	}
	var end interruption
	if errors.As(context.Cause(ctx), &end) {
		log.Info("stopped", "reason", end.Error())
	}
	return nil
}
