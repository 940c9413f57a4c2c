package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/subscriptions"
)

func newExplain(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "explain SUBSCRIPTION", Short: "Tell why nothing is pushed now", Args: nArgs(1, 1),
		Example: "  postrider subscriptions explain billing",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		e, err := call[api.ExplainResponse](s.Explain(ctx, name.Project, name.ID, api.Empty{}))
		if err != nil {
			return err
		}
		return s.print.result(e, func() error { return s.print.line("%s", explained(e)) })
	})
}

// explained is the explanation for people.
func explained(e api.ExplainResponse) string {
	most := ""
	if e.UpperBound {
		most = "at most " // a filter has not looked at all
	}
	text := e.Summary + fmt.Sprintf("\nnever sent: %s%d, outstanding: %d, of these dead: %d", most, e.Undelivered, e.Outstanding, e.Dead)
	if e.OldestUnackedAge != nil {
		text += fmt.Sprintf("\nunacknowledged: %s%d bytes, the oldest for %s%s", most, e.UnackedBytes, most, durationText(e.OldestUnackedAge))
	}
	if e.BlockedKeys > 0 {
		text += fmt.Sprintf("\nblocked ordering keys: %d (see blocked-keys)", e.BlockedKeys)
	}
	if b := e.Breaker; b != nil && b.OpenTime != nil {
		text += fmt.Sprintf("\ncircuit breaker: open for %s, %d probes failed", time.Since(b.OpenTime.Time).Round(time.Second), b.FailedProbes)
	}
	if e.ExpireTime != nil {
		text += "\nexpires unless it is used: " + e.ExpireTime.Format(time.RFC3339)
	}
	for _, w := range e.Warnings {
		text += "\nwarning: " + w
	}
	if e.Owner != "" {
		text += "\npushed by server " + e.Owner
	}
	return text
}
