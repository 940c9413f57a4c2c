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

func newBlockedKeys(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "blocked-keys SUBSCRIPTION", Short: "List ordering keys that wait for a message which failed", Args: nArgs(1, 1),
		Long:    "List ordering keys that wait for a message which failed, the longest blocked first: since when, behind which message, and why.",
		Example: "  postrider subscriptions blocked-keys billing",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		keys, err := everyPage(func(token string) ([]api.BlockedKey, string, error) {
			page, err := call[api.ListBlockedKeysResponse](s.ListBlockedKeys(ctx, name.Project, name.ID, api.ListBlockedKeysRequest{PageToken: token}))
			return page.BlockedKeys, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		header := []string{"ORDERING KEY", "MESSAGE", "BLOCKED FOR", "ATTEMPTS", "BEHIND", "NEXT", "LAST ERROR"}
		return list(s.print, keys, header, func(k api.BlockedKey) []string {
			return []string{
				k.OrderingKey, k.MessageID, ageText(k.BlockedTime), fmt.Sprint(k.Attempts), fmt.Sprint(k.MessagesBehind), nextText(k), k.LastError,
			}
		})
	})
}

// ageText is how long ago a time is.
func ageText(t *wire.Timestamp) string {
	if t == nil {
		return ""
	}
	return roughly(time.Since(t.Time).Round(time.Second))
}

// nextText is what becomes of the message that blocks a key.
func nextText(k api.BlockedKey) string {
	switch k.State {
	case api.BlockedKeyStateDelivering:
		return "being delivered"
	case api.BlockedKeyStateDead:
		return "waits for the dead-letter topic"
	}
	if k.NextTime == nil {
		return ""
	}
	return "tried again " + inText(k.NextTime)
}

func newUnblockKey(p process) *cobra.Command {
	var key, message string
	c := &cobra.Command{
		Use: "unblock-key SUBSCRIPTION --ordering-key KEY --message-id ID --drop | --dead-letter", Short: "Drop or dead-letter the message that blocks an ordering key", Args: nArgs(1, 1),
		Example: `  postrider subscriptions unblock-key billing --ordering-key customer-17 --message-id 1767225600000-14217 --dead-letter
  postrider subscriptions unblock-key billing --ordering-key customer-17 --message-id 1767225600000-14217 --drop`,
	}
	f := c.Flags()
	f.StringVar(&key, "ordering-key", "", "`KEY` that is blocked (required)")
	f.StringVar(&message, "message-id", "", "`ID` of the message that blocks it, as blocked-keys shows it (required)")
	f.Bool("drop", false, "the message is gone, as if it were acknowledged")
	f.Bool("dead-letter", false, "the message goes to the dead-letter topic")
	for _, flag := range []string{"ordering-key", "message-id"} {
		_ = c.MarkFlagRequired(flag) // fails only for a flag that does not exist
	}
	c.MarkFlagsOneRequired("drop", "dead-letter")
	c.MarkFlagsMutuallyExclusive("drop", "dead-letter")
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		body := api.UnblockKeyRequest{OrderingKey: key, MessageID: message, Action: api.UnblockActionDrop}
		done := "dropped " + message
		if c.Flags().Changed("dead-letter") {
			body.Action, done = api.UnblockActionDeadLetter, "moved "+message+" to the dead-letter topic"
		}
		empty, err := call[api.Empty](s.UnblockKey(ctx, name.Project, name.ID, body))
		return s.printDone(done, empty, err)
	})
}
