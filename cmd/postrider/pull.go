package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

func newPull(p process) *cobra.Command {
	var limit int32
	var wait, noWait, autoAck bool
	c := &cobra.Command{
		Use: "pull SUBSCRIPTION", Short: "Pull messages", GroupID: groupClient, Args: nArgs(1, 1),
		Long: "Pull messages. Without any there the server waits for a first one, about 30 seconds.\n" +
			"A message that is not acknowledged within the subscription's ack deadline is delivered again.",
		Example: `  postrider pull billing
  postrider pull billing --max 10 --wait --auto-ack -o json`,
	}
	c.Flags().Int32Var(&limit, "max", 1, "`NUMBER` of messages at most, 1 to 1000")
	c.Flags().BoolVar(&wait, "wait", false, "wait until there is a message, however long")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait at all")
	c.Flags().BoolVar(&autoAck, "auto-ack", false, "acknowledge the messages once they are printed")
	c.MarkFlagsMutuallyExclusive("wait", "no-wait")
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		received, err := s.pull(ctx, name, api.PullRequest{MaxMessages: wire.Int32(limit), ReturnImmediately: noWait}, wait)
		if err != nil {
			return err
		}
		// Printed first: what could not be shown is not acknowledged and comes again.
		if err := s.printReceived(received, autoAck); err != nil || !autoAck || len(received) == 0 {
			return err
		}
		_, err = call[api.Empty](s.Acknowledge(ctx, name.Project, name.ID, api.AcknowledgeRequest{AckIDs: ackIDs(received)}))
		return err
	})
}

// pull asks once, or until there is something.
func (s *session) pull(ctx context.Context, name subscriptions.SubscriptionName, request api.PullRequest, untilSome bool) ([]api.ReceivedMessage, error) {
	for {
		answer, err := call[api.PullResponse](s.Pull(ctx, name.Project, name.ID, request))
		if err != nil || len(answer.ReceivedMessages) > 0 || !untilSome {
			return answer.ReceivedMessages, err
		}
	}
}

func ackIDs(received []api.ReceivedMessage) []string {
	ids := make([]string, len(received))
	for i, r := range received {
		ids[i] = r.AckID
	}
	return ids
}

// printReceived leaves out the ack ids when nobody has to use them.
func (s *session) printReceived(received []api.ReceivedMessage, acked bool) error {
	header := []string{"MESSAGE ID", "ATTEMPT", "DATA", "ATTRIBUTES", "ACK ID"}
	if acked {
		header = header[:4]
	}
	return list(s.print, received, header, func(r api.ReceivedMessage) []string {
		m := r.Message
		if m == nil {
			m = &api.PubsubMessage{}
		}
		attempt := ""
		if r.DeliveryAttempt > 0 {
			attempt = strconv.Itoa(int(r.DeliveryAttempt))
		}
		return []string{m.MessageID, attempt, payload(m.Data), mapText(m.Attributes), r.AckID}[:len(header)]
	})
}
