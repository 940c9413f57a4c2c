package main

import (
	"context"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/subscriptions"
)

func newSubscriptions(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "subscriptions", Short: "Create, read, change and delete subscriptions", GroupID: groupResources, Args: noArgs,
	}
	c.AddCommand(newSubscriptionCreate(p), newSubscriptionGet(p), newSubscriptionList(p), newSubscriptionUpdate(p),
		newSubscriptionDelete(p), newSubscriptionDetach(p), newModifyPushConfig(p), newExplain(p), newCloseBreaker(p), newBlockedKeys(p), newUnblockKey(p))
	return c
}

// onSubscription makes c a client command whose first argument is a subscription.
func onSubscription(p process, c *cobra.Command, do func(context.Context, *session, subscriptions.SubscriptionName, []string) error) *cobra.Command {
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = completeFirst(p, listSubscriptions)
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		name, err := s.subscription(args[0])
		if err != nil {
			return err
		}
		return do(ctx, s, name, args[1:])
	})
}

func newSubscriptionCreate(p process) *cobra.Command {
	var flags subscriptionFlags
	c := &cobra.Command{
		Use: "create SUBSCRIPTION --topic TOPIC", Short: "Create a subscription", Args: nArgs(1, 1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Create a subscription. " + withoutFlags,
		Example: `  postrider subscriptions create billing --topic orders
  postrider subscriptions create billing --topic orders --push-endpoint https://billing.example.com/orders \
    --min-retry-delay 1s --max-retry-delay 60s --dead-letter-topic orders-dead --max-delivery-attempts 10`,
	}
	flags.bindTopic(c.Flags())
	_ = c.MarkFlagRequired("topic") // fails only for a flag that does not exist
	flags.bind(c.Flags())
	flags.bindFixed()
	completeFlag(p, c, "topic", listTopics)
	completeFlag(p, c, "dead-letter-topic", listTopics)
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		target, err := s.topic(flags.topic)
		if err != nil {
			return err
		}
		if flags.deadLetter == "" && c.Flags().Changed("max-delivery-attempts") {
			return usagef("--max-delivery-attempts has no effect without --dead-letter-topic, which takes what failed so often (see %s --help)",
				c.CommandPath())
		}
		sub, err := flags.subscription(s)
		if err != nil {
			return err
		}
		sub.Topic = target.String()
		return s.printSubscription(call[api.Subscription](s.CreateSubscription(ctx, name.Project, name.ID, sub)))
	})
}

func newSubscriptionGet(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "get SUBSCRIPTION", Short: "Show a subscription", Args: nArgs(1, 1),
		Example: "  postrider subscriptions get billing",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		return s.printSubscription(call[api.Subscription](s.GetSubscription(ctx, name.Project, name.ID)))
	})
}

func newSubscriptionList(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the subscriptions of the project", Args: noArgs,
		Example: "  postrider subscriptions list\n  postrider subscriptions list -o json",
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, _ []string) error {
		subs, err := everyPage(func(token string) ([]api.Subscription, string, error) {
			params := &api.ListSubscriptionsParams{PageToken: token}
			page, err := call[api.ListSubscriptionsResponse](s.ListSubscriptions(ctx, s.project, params))
			return page.Subscriptions, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		return list(s.print, subs, []string{"SUBSCRIPTION", "TOPIC", "DELIVERY"}, func(sub api.Subscription) []string {
			return []string{sub.Name, sub.Topic, deliveryText(sub)}
		})
	})
}

func newSubscriptionUpdate(p process) *cobra.Command {
	var flags subscriptionFlags
	c := &cobra.Command{
		Use: "update SUBSCRIPTION", Short: "Change a subscription", Args: nArgs(1, 1),
		Long: `Change a subscription. What no flag is given for stays as it is: the defaults below are those of a new subscription.
An empty --push-endpoint makes it a pull subscription.
` + withoutFlags + "\n" + replaceHelp,
		Example: `  postrider subscriptions update billing --ack-deadline 60s
  postrider subscriptions update billing --max-retry-delay 5m --clear-dead-letter-policy`,
	}
	flags.bind(c.Flags())
	flags.bindClear(c)
	flags.bindRefused(c)
	completeFlag(p, c, "dead-letter-topic", listTopics)
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		if err := flags.checkFixed(c, name.ID); err != nil {
			return err
		}
		sub, err := flags.subscription(s)
		if err != nil {
			return err
		}
		mask := flags.mask()
		if mask == "" {
			return usagef("nothing to change: give at least one flag (see %s --help)", c.CommandPath())
		}
		body := api.UpdateSubscriptionRequest{Subscription: &sub, UpdateMask: mask}
		return s.printSubscription(call[api.Subscription](s.UpdateSubscription(ctx, name.Project, name.ID, nil, body)))
	})
}

func newSubscriptionDelete(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "delete SUBSCRIPTION", Short: "Delete a subscription and its backlog", Args: nArgs(1, 1),
		Example: "  postrider subscriptions delete billing",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		empty, err := call[api.Empty](s.DeleteSubscription(ctx, name.Project, name.ID))
		return s.printDone("deleted "+name.String(), empty, err)
	})
}

func newSubscriptionDetach(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "detach SUBSCRIPTION", Short: "Cut a subscription off its topic, for good, and drop its backlog", Args: nArgs(1, 1),
		Example: "  postrider subscriptions detach billing",
	}
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		empty, err := call[api.Empty](s.DetachSubscription(ctx, name.Project, name.ID, api.Empty{}))
		return s.printDone("detached "+name.String(), empty, err)
	})
}

func newModifyPushConfig(p process) *cobra.Command {
	var push pushFlags
	c := &cobra.Command{
		Use: "modify-push-config SUBSCRIPTION", Short: "Push a subscription elsewhere, or let it be pulled", Args: nArgs(1, 1),
		Example: `  postrider subscriptions modify-push-config billing --push-endpoint https://billing.example.com/orders
  postrider subscriptions modify-push-config billing --pull`,
	}
	push.bind(c.Flags())
	c.Flags().Bool("pull", false, "push no longer; the backlog stays")
	c.MarkFlagsOneRequired("push-endpoint", "pull")
	c.MarkFlagsMutuallyExclusive("push-endpoint", "pull")
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		body := api.ModifyPushConfigRequest{PushConfig: push.config()}
		empty, err := call[api.Empty](s.ModifyPushConfig(ctx, name.Project, name.ID, body))
		done := name.String() + " is now pulled"
		if push.endpoint != "" {
			done = name.String() + " is now pushed to " + push.endpoint
		}
		return s.printDone(done, empty, err)
	})
}
