package main

import (
	"context"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/subscriptions"
)

func newTopics(p process) *cobra.Command {
	c := &cobra.Command{Use: "topics", Short: "Create, read, change and delete topics", GroupID: groupResources, Args: noArgs}
	c.AddCommand(newTopicCreate(p), newTopicGet(p), newTopicList(p), newTopicUpdate(p), newTopicDelete(p),
		newTopicSubscriptions(p), newDelayed(p), newCancelDelayed(p))
	return c
}

// onTopic makes c a client command whose first argument is a topic.
func onTopic(p process, c *cobra.Command, do func(context.Context, *session, subscriptions.TopicName, []string) error) *cobra.Command {
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = completeFirst(p, listTopics)
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		name, err := s.topic(args[0])
		if err != nil {
			return err
		}
		return do(ctx, s, name, args[1:])
	})
}

func (s *session) printTopic(t api.Topic, err error) error {
	if err != nil {
		return err
	}
	return s.print.result(t, func() error {
		return s.print.fields("topic", t.Name, "retention", durationText(t.MessageRetentionDuration), "labels", mapText(t.Labels), "state", string(t.State))
	})
}

func newTopicCreate(p process) *cobra.Command {
	var flags topicFlags
	c := &cobra.Command{
		Use: "create TOPIC", Short: "Create a topic", Args: nArgs(1, 1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  postrider topics create orders --label team=checkout\n  postrider topics create orders --message-retention-duration 7d",
	}
	flags.bind(c.Flags())
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, _ []string) error {
		return s.printTopic(call[api.Topic](s.CreateTopic(ctx, name.Project, name.ID, flags.topic())))
	})
}

func newTopicGet(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "get TOPIC", Short: "Show a topic", Args: nArgs(1, 1),
		Example: "  postrider topics get orders\n  postrider topics get projects/shop/topics/orders -o json",
	}
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, _ []string) error {
		return s.printTopic(call[api.Topic](s.GetTopic(ctx, name.Project, name.ID)))
	})
}

func newTopicList(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the topics of the project", Args: noArgs,
		Example: "  postrider topics list\n  postrider topics list --project shop -o json",
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, _ []string) error {
		topics, err := everyPage(func(token string) ([]api.Topic, string, error) {
			page, err := call[api.ListTopicsResponse](s.ListTopics(ctx, s.project, &api.ListTopicsParams{PageToken: token}))
			return page.Topics, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		return list(s.print, topics, []string{"TOPIC", "LABELS"}, func(t api.Topic) []string {
			return []string{t.Name, mapText(t.Labels)}
		})
	})
}

func newTopicUpdate(p process) *cobra.Command {
	var flags topicFlags
	c := &cobra.Command{
		Use: "update TOPIC", Short: "Change a topic", Args: nArgs(1, 1), Long: "Change a topic. What no flag is given for stays as it is.",
		Example: "  postrider topics update orders --label team=payments\n  postrider topics update orders --message-retention-duration 1d",
	}
	flags.bind(c.Flags())
	flags.bindClear(c)
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, _ []string) error {
		topic := flags.topic()
		body := api.UpdateTopicRequest{Topic: &topic, UpdateMask: flags.mask()}
		return s.printTopic(call[api.Topic](s.UpdateTopic(ctx, name.Project, name.ID, nil, body)))
	})
}

func newTopicDelete(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "delete TOPIC", Short: "Delete a topic; its subscriptions stay with their backlog", Args: nArgs(1, 1),
		Example: "  postrider topics delete orders",
	}
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, _ []string) error {
		empty, err := call[api.Empty](s.DeleteTopic(ctx, name.Project, name.ID))
		return s.printDone("deleted "+name.String(), empty, err)
	})
}

func newTopicSubscriptions(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "subscriptions TOPIC", Short: "List the subscriptions attached to a topic", Args: nArgs(1, 1),
		Example: "  postrider topics subscriptions orders",
	}
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, _ []string) error {
		names, err := everyPage(func(token string) ([]string, string, error) {
			params := &api.ListTopicSubscriptionsParams{PageToken: token}
			page, err := call[api.ListTopicSubscriptionsResponse](s.ListTopicSubscriptions(ctx, name.Project, name.ID, params))
			return page.Subscriptions, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		return s.print.names("SUBSCRIPTION", names)
	})
}
