package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

func newExplain(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "explain SUBSCRIPTION", Short: "Tell why a subscription's messages do not move", Args: nArgs(1, 1),
		Long: "Tell why a subscription's messages do not move, or that they do: how much waits; of a push subscription what holds its pushes up, and what\n" +
			"the server that pushes says of it; of a pull subscription when somebody used it last.",
		Example: "  postrider explain billing",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		e, err := call[api.ExplainResponse](s.Explain(ctx, name.Project, name.ID, api.Empty{}))
		if err != nil {
			return err
		}
		return s.print.result(e, func() error { return s.print.line("%s", explained(e)) })
	})
}

// inGroup puts a command beside the most used ones.
func inGroup(c *cobra.Command, group string) *cobra.Command {
	c.GroupID = group
	return c
}

// explained is the explanation for people.
func explained(e api.ExplainResponse) string {
	most := ""
	if e.UpperBound {
		most = "at most " // a filter has not looked at all
	}
	text := e.Summary + fmt.Sprintf("\nnever sent: %s%d, outstanding: %d, of these dead: %d", most, e.Undelivered, e.Outstanding, e.Dead)
	if e.OldestUnackedAge != nil {
		text += fmt.Sprintf("\nunacknowledged: %s%d bytes, the oldest for %s%s", most, e.UnackedBytes, most, roughly(e.OldestUnackedAge.Duration()))
	}
	if e.BlockedKeys > 0 {
		text += fmt.Sprintf("\nblocked ordering keys: %d (postrider subscriptions blocked-keys lists them)", e.BlockedKeys)
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
	if l := e.PushLimits; l != nil {
		text += "\nlimits:"
		if l.MaxOutstanding > 0 {
			text += fmt.Sprintf(" %d pushes at once", l.MaxOutstanding)
		}
		if l.MaxPerSecond > 0 {
			text += fmt.Sprintf(" %g a second", l.MaxPerSecond)
		}
	}
	if e.Owner != "" {
		text += "\npushed by server " + e.Owner
	}
	if e.Push != nil {
		text += explainedPushes(*e.Push)
	}
	return text
}

// explainedPushes is what the server that pushes says.
func explainedPushes(p api.PushState) string {
	text := fmt.Sprintf("\nwith the endpoint: %d of at most %d", p.InFlight, p.Limit)
	if !p.Answered {
		text = fmt.Sprintf("\nthe server that pushes does not answer; %s ago server %s said:", ageText(p.ReportTime), p.Server) + text
	}
	for _, until := range []struct {
		what string
		at   *wire.Timestamp
	}{{"push backoff", p.BackoffUntilTime}, {"Retry-After", p.RetryAfterUntilTime}, {"rate limit", p.RateLimitedUntilTime}} {
		if until.at != nil {
			text += "\n" + until.what + " until " + until.at.Format(time.RFC3339)
		}
	}
	for i, failed := range p.LastErrors {
		if i == 0 {
			text += "\nlast errors:"
		}
		text += "\n  " + attemptText(failed)
	}
	return text
}

// attemptText is a failed attempt in a line.
func attemptText(a api.FailedAttempt) string {
	text := ageText(a.Time) + " ago: " + a.Reason
	if a.Duration != nil {
		text += " after " + roughly(a.Duration.Duration())
	}
	if a.Answer != "" {
		text += ": " + a.Answer
	}
	if a.Attempt == 0 {
		text += " (a probe)"
	} else {
		text += fmt.Sprintf(" (attempt %d)", a.Attempt)
	}
	return text + " of message " + a.MessageID
}
