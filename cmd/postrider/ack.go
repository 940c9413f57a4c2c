package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/subscriptions"
)

func newAck(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "ack SUBSCRIPTION ACK_ID…", Short: "Acknowledge pulled messages", GroupID: groupClient, Args: nArgs(2, -1),
		Example: "  postrider ack billing \"$(postrider pull billing -o json | jq -r '.[].ackId')\"",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, ids []string) error {
		empty, err := call[api.Empty](s.Acknowledge(ctx, name.Project, name.ID, api.AcknowledgeRequest{AckIDs: ids}))
		return s.printDone("acknowledged "+count(len(ids), "message"), empty, err)
	})
}

func newNack(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "nack SUBSCRIPTION ACK_ID…", Short: "Give pulled messages back, to be delivered again by the retry policy",
		GroupID: groupClient, Args: nArgs(2, -1),
		Example: "  postrider nack billing \"$ACK_ID\"",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, ids []string) error {
		empty, err := call[api.Empty](s.ModifyAckDeadline(ctx, name.Project, name.ID, api.ModifyAckDeadlineRequest{AckIDs: ids}))
		return s.printDone("gave back "+count(len(ids), "message"), empty, err)
	})
}

// count is a number of things in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
