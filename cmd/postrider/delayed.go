package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/subscriptions"
)

func newDelayed(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "delayed TOPIC", Short: "List messages that are not due yet", Args: nArgs(1, 1),
		Long:    "List the messages of a topic that were published with --deliver-at and are not due yet, the first to be due first.",
		Example: "  postrider topics delayed orders",
	}
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, _ []string) error {
		messages, err := everyPage(func(token string) ([]api.DelayedMessage, string, error) {
			page, err := call[api.ListDelayedResponse](s.ListDelayed(ctx, name.Project, name.ID, api.ListDelayedRequest{PageToken: token}))
			return page.Messages, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		return list(s.print, messages, []string{"MESSAGE", "DUE", "BYTES", "ATTRIBUTES"}, func(m api.DelayedMessage) []string {
			return []string{m.MessageID, inText(m.DueTime), fmt.Sprint(m.Bytes), mapText(m.Attributes)}
		})
	})
}

func newCancelDelayed(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "cancel-delayed TOPIC MESSAGE…", Short: "Drop messages that are not due yet", Args: nArgs(2, subscriptions.MaxCancel+1),
		Long:    "Drop messages that are not due yet, by their ids: nobody gets them. It fails if one of them is due by now, or was never delayed.",
		Example: "  postrider topics cancel-delayed orders 1767225600000-5000000000014217",
	}
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, ids []string) error {
		answer, err := call[api.CancelDelayedResponse](s.CancelDelayed(ctx, name.Project, name.ID, api.CancelDelayedRequest{MessageIDs: ids}))
		if err != nil {
			return err
		}
		err = s.print.result(answer, func() error {
			for _, id := range answer.MessageIDs {
				if err := s.print.line("dropped %s", id); err != nil {
					return err
				}
			}
			return nil
		})
		if missed := without(ids, answer.MessageIDs); err == nil && len(missed) > 0 {
			return fmt.Errorf("not delayed, or no longer: %v", missed)
		}
		return err
	})
}

// without are the ids that are not among others.
func without(ids, others []string) (rest []string) {
	known := map[string]bool{}
	for _, id := range others {
		known[id] = true
	}
	for _, id := range ids {
		if !known[id] {
			rest = append(rest, id)
		}
	}
	return rest
}
