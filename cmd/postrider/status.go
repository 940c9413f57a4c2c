package main

import (
	"context"

	"github.com/spf13/cobra"

	"postrider/server/api"
)

func newStatus(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Tell whether the server can serve; if not, fail with the reason", GroupID: groupServer, Args: noArgs,
		Example: "  postrider status --server http://postrider.internal:8085",
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, _ []string) error {
		health, err := call[api.Health](s.GetReadiness(ctx))
		if err != nil {
			return err
		}
		return s.print.result(health, func() error {
			if err := s.print.line("ready"); err != nil {
				return err
			}
			for _, w := range health.Warnings {
				if err := s.print.line("warning: %s", printable(w)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
