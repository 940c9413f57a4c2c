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

func newPeek(p process) *cobra.Command {
	var most int
	c := &cobra.Command{
		Use: "peek SUBSCRIPTION", Short: "Look at messages without taking them", GroupID: groupClient, Args: nArgs(1, 1),
		Long: "Look at messages that a subscription has not acknowledged: those that were delivered first, then those that were not. Nothing is\n" +
			"leased, and no attempt is spent.",
		Example: `  postrider peek billing
  postrider peek billing --max 1000 -o json | jq -r '.[].message.messageId'`,
	}
	bindMax(c, &most)
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		messages, more, err := upTo(most, func(size int, token string) ([]api.PeekedMessage, string, error) {
			page, err := call[api.PeekResponse](s.Peek(ctx, name.Project, name.ID, api.PeekRequest{PageSize: wire.Int32(size), PageToken: token}))
			return page.Messages, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		header := []string{"MESSAGE", "PUBLISHED", "STATE", "ATTEMPTS", "NEXT", "DATA", "ATTRIBUTES", "LAST ERROR"}
		err = list(s.print, messages, header, func(m api.PeekedMessage) []string {
			return []string{
				m.Message.MessageID, agoText(m.Message.PublishTime), peekText(m.State), fmt.Sprint(m.Attempts), inText(m.NextTime),
				payload(m.Message.Data), mapText(m.Message.Attributes), m.LastError,
			}
		})
		return noteMore(p, more, most, err)
	})
}

// bindMax adds the flag for how many there are to be shown.
func bindMax(c *cobra.Command, most *int) {
	c.Flags().IntVar(most, "max", 100, "`NUMBER` of them to show at most; 0 is all")
}

// upTo reads pages up to so many entries, and tells whether there are more; 0 is all.
func upTo[T any](most int, fetch func(size int, token string) (page []T, next string, err error)) (all []T, more bool, err error) {
	if most < 0 {
		return nil, false, usagef("--max: %d is not a positive number, nor 0 for all", most)
	}
	for token := ""; ; {
		size := subscriptions.MaxPageSize
		if most > 0 {
			size = min(size, most-len(all))
		}
		page, next, err := fetch(size, token)
		if err != nil {
			return nil, false, err
		}
		all = append(all, page...)
		if token = next; token == "" || most > 0 && len(all) >= most {
			return all, token != "", nil
		}
	}
}

// noteMore says that not all was shown.
func noteMore(p process, more bool, most int, err error) error {
	if err == nil && more {
		_, err = fmt.Fprintf(p.err, "there may be more: --max says how many to show, %d now\n", most)
	}
	return err
}

func peekText(state api.PeekedMessageState) string {
	return map[api.PeekedMessageState]string{
		api.PeekStateNew: "new", api.PeekStateLeased: "being delivered", api.PeekStateWaiting: "waits for its retry",
		api.PeekStateParked: "behind its ordering key", api.PeekStateDead: "to be dead-lettered",
	}[state]
}

// agoText is how long ago a time is, in words.
func agoText(t *wire.Timestamp) string {
	if t == nil {
		return ""
	}
	return ageText(t) + " ago"
}

// inText is how long it is to a time.
func inText(t *wire.Timestamp) string {
	if t == nil {
		return ""
	}
	return "in " + roughly(time.Until(t.Time).Round(time.Second))
}
