package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

func newPublish(p process) *cobra.Command {
	var attributes pairs
	var orderingKey, file string
	var ttl duration
	var at dueTime
	c := &cobra.Command{
		Use: "publish TOPIC [DATA…]", Short: "Publish messages, one for each DATA, all of them or none", GroupID: groupClient,
		Long: "Publish messages, one for each DATA, in one request: all are stored or none. Prints their ids.\n" +
			"With neither DATA nor --file it publishes one message that has only attributes.",
		Args: nArgs(1, -1),
		Example: `  postrider publish orders '{"order": 1}' '{"order": 2}' --attribute origin=web
  postrider publish orders remind --deliver-at 2h --ttl 30m
  date | postrider publish orders --file -`,
	}
	c.Flags().Var(&attributes, "attribute", "`KEY=VALUE` of an attribute of every message; may be repeated")
	c.Flags().StringVar(&orderingKey, "ordering-key", "", "`KEY` of every message")
	c.Flags().StringVarP(&file, "file", "f", "", "`FILE` whose content is the data of one message; - is standard input")
	c.Flags().Var(&at, "deliver-at", "`TIME` from now, such as 90s or 2d, or of day, such as 2030-01-31T12:00:00Z, before which nobody gets the messages")
	c.Flags().Var(&ttl, "ttl", "`TIME` after which, from now or from --deliver-at, nobody gets them any more")
	return onTopic(p, c, func(ctx context.Context, s *session, name subscriptions.TopicName, args []string) error {
		if len(args) == 0 && file == "" && attributes == nil { // a message of our own attributes alone is hardly meant
			return usagef("there is nothing to publish: give DATA, --file, or at least one --attribute (see %s --help)", c.CommandPath())
		}
		data, err := messageData(p, file, args)
		if err != nil {
			return err
		}
		if c.Flags().Changed("ttl") {
			attributes.put(subscriptions.AttributeTTL, secondsText(ttl))
		}
		if at.text != "" {
			attributes.put(subscriptions.AttributeDeliverAt, at.text)
		}
		var body api.PublishRequest
		for _, d := range data {
			body.Messages = append(body.Messages, api.PubsubMessage{Data: wire.Bytes(d), Attributes: attributes, OrderingKey: orderingKey})
		}
		answer, err := call[api.PublishResponse](s.Publish(ctx, name.Project, name.ID, body))
		if err != nil {
			return err
		}
		return s.print.result(answer, func() error {
			for _, id := range answer.MessageIDs {
				if err := s.print.line("%s", id); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// messageData is the data of each message to publish.
func messageData(p process, file string, args []string) ([][]byte, error) {
	if file != "" && len(args) > 0 {
		return nil, usagef("DATA and --file exclude each other")
	}
	switch file {
	case "":
	case "-":
		b, err := io.ReadAll(p.in)
		return [][]byte{b}, err
	default:
		b, err := os.ReadFile(file)
		return [][]byte{b}, err
	}
	if len(args) == 0 {
		return [][]byte{nil}, nil
	}
	data := make([][]byte, len(args))
	for i, arg := range args {
		data[i] = []byte(arg)
	}
	return data, nil
}
