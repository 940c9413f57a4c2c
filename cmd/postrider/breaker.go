package main

import (
	"context"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/subscriptions"
)

func newCloseBreaker(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "close-breaker SUBSCRIPTION", Short: "Push to an endpoint again although its circuit breaker is open", Args: nArgs(1, 1),
		Long: `Push to an endpoint again although its circuit breaker is open.

It opens when 20 different messages in a row were refused, and closes by itself once probes are accepted, a minute apart at most.`,
		Example: "  postrider subscriptions close-breaker billing",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		answer, err := call[api.CloseBreakerResponse](s.CloseBreaker(ctx, name.Project, name.ID, api.Empty{}))
		if err != nil {
			return err
		}
		done := "the circuit breaker of " + name.String() + " was closed already"
		if answer.WasOpen {
			done = "closed the circuit breaker of " + name.String()
		}
		return s.print.result(answer, func() error { return s.print.line("%s", done) })
	})
}
