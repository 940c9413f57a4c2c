package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

func newDeadLetterCommands(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "dead-letters", Aliases: []string{"dlq"}, Short: "Find dead letters, and send them back or drop them", GroupID: groupClient, Args: noArgs,
	}
	c.AddCommand(newDeadLettersList(p), newDeadLettersShow(p), newDeadLettersRedrive(p), newDeadLettersPurge(p))
	return c
}

// letterFlags select dead letters.
type letterFlags struct {
	topic         string
	holder        string
	text, from    string
	since, before moment
	ids           []string
}

// bind adds the flags that all commands on dead letters share.
func (f *letterFlags) bind(p process, c *cobra.Command) {
	c.Flags().StringVar(&f.topic, "topic", "", "`TOPIC` for dead letters, in place of a subscription: all that it has")
	c.Flags().StringVar(&f.holder, "from", "", "`SUBSCRIPTION` of the dead-letter topic that holds them; needed where it has several")
	c.Flags().StringVar(&f.text, "text", "", "`TEXT` in the data, an attribute, the ordering key or the last error, in capitals or not")
	c.Flags().StringVar(&f.from, "source", "", "`SUBSCRIPTION` that they came from")
	c.Flags().Var(&f.since, "since", "`TIME` since which they died, or how long ago that was")
	c.Flags().Var(&f.before, "before", "`TIME` before which they died, or how long ago that was")
	completeFlag(p, c, "topic", listTopics)
	completeFlag(p, c, "from", listSubscriptions)
	completeFlag(p, c, "source", listSubscriptions)
}

// filter is what the flags and ids select.
func (f *letterFlags) filter(s *session) (*api.DeadLetterFilter, error) {
	out := &api.DeadLetterFilter{Text: f.text, MessageIDs: f.ids}
	if f.from != "" {
		name, err := s.subscription(f.from)
		if err != nil {
			return nil, err
		}
		out.Subscription = name.String()
	}
	if !f.since.IsZero() {
		out.SinceTime = wire.NewTimestamp(f.since.Time)
	}
	if !f.before.IsZero() {
		out.BeforeTime = wire.NewTimestamp(f.before.Time)
	}
	return out, nil
}

// letters are dead letters of a subscription or a topic.
type letters struct {
	*session
	subscription subscriptions.SubscriptionName
	topic        subscriptions.TopicName // in place of subscription
	filter       *api.DeadLetterFilter
	holder       string
}

// letters reads whose dead letters are meant: the first argument is a subscription, unless a flag names a topic.
func (f *letterFlags) letters(s *session, args []string) (l *letters, rest []string, err error) {
	l = &letters{session: s}
	switch {
	case f.topic != "":
		l.topic, err = s.topic(f.topic)
	case len(args) == 0:
		return nil, nil, usagef("a subscription, or a dead-letter topic with --topic, is required")
	default:
		l.subscription, err = s.subscription(args[0])
		args = args[1:]
	}
	if err != nil {
		return nil, nil, err
	}
	if f.holder != "" {
		holder, err := s.subscription(f.holder)
		if err != nil {
			return nil, nil, err
		}
		l.holder = holder.String()
	}
	l.filter, err = f.filter(s)
	return l, args, err
}

// page reads a page of them.
func (l *letters) page(ctx context.Context, size int, token string) ([]api.DeadLetter, string, error) {
	r := api.ListDeadLettersRequest{Filter: l.filter, DeadLetterSubscription: l.holder, PageSize: wire.Int32(size), PageToken: token}
	var page api.ListDeadLettersResponse
	var err error
	if l.topic.ID != "" {
		page, err = call[api.ListDeadLettersResponse](l.ListTopicDeadLetters(ctx, l.topic.Project, l.topic.ID, r))
	} else {
		page, err = call[api.ListDeadLettersResponse](l.ListSubscriptionDeadLetters(ctx, l.subscription.Project, l.subscription.ID, r))
	}
	return page.DeadLetters, page.NextPageToken, l.advise(ctx, err)
}

func newDeadLettersList(p process) *cobra.Command {
	var flags letterFlags
	var most int
	c := &cobra.Command{
		Use: "list SUBSCRIPTION | --topic TOPIC", Short: "List dead letters", Args: nArgs(0, 1),
		Long: "List dead letters that came from a subscription, or all that a dead-letter topic has: since when they are dead, where they come from,\n" +
			"and why the last attempt failed.",
		Example: `  postrider dead-letters list billing
  postrider dlq list --topic orders-dead --text 'card declined' --since 1d
  postrider dlq list billing -o json | jq -r '.[].origin.lastError' | sort | uniq -c`,
	}
	flags.bind(p, c)
	bindMax(c, &most)
	c.ValidArgsFunction = completeFirst(p, listSubscriptions)
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		l, _, err := flags.letters(s, args)
		if err != nil {
			return err
		}
		all, more, err := upTo(most, func(size int, token string) ([]api.DeadLetter, string, error) { return l.page(ctx, size, token) })
		if err != nil {
			return err
		}
		header := []string{"ID", "DIED", "FROM", "PUBLISHED", "ATTEMPTS", "REDRIVEN", "OWNER", "HELD BY", "DATA", "LAST ERROR"}
		err = list(s.print, all, header, func(d api.DeadLetter) []string {
			return []string{
				d.Message.MessageID, agoText(d.Message.PublishTime), s.short(d.Origin.Subscription), agoText(d.Origin.PublishTime),
				fmt.Sprint(d.Origin.Attempts), fmt.Sprint(d.Origin.RedrivenCount), d.Owner, s.short(d.DeadLetterSubscription),
				payload(d.Message.Data), d.Origin.LastError,
			}
		})
		return noteMore(p, more, most, err)
	})
}

// short is a name without its project, if that is the one of the session.
func (s *session) short(name string) string {
	for _, collection := range []string{"subscriptions", "topics", "operations"} {
		if id, ok := strings.CutPrefix(name, "projects/"+s.project+"/"+collection+"/"); ok {
			return id
		}
	}
	return name
}

func newDeadLettersShow(p process) *cobra.Command {
	var flags letterFlags
	c := &cobra.Command{
		Use: "show SUBSCRIPTION ID… | --topic TOPIC ID…", Short: "Show dead letters with all that is known of them", Args: nArgs(1, -1),
		Example: "  postrider dead-letters show billing 1767225900000-224217",
	}
	flags.bind(p, c)
	c.ValidArgsFunction = completeFirst(p, listSubscriptions)
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		l, ids, err := flags.letters(s, args)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return usagef("the ID of a dead letter is required, as list shows it")
		}
		l.filter.MessageIDs = ids
		all, _, err := upTo(0, func(size int, token string) ([]api.DeadLetter, string, error) { return l.page(ctx, size, token) })
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("there is no such dead letter (any more)")
		}
		if !s.print.forPeople() {
			return list(s.print, all, nil, nil)
		}
		for i, d := range all {
			if i > 0 {
				if err := s.print.line(""); err != nil {
					return err
				}
			}
			if err := s.showLetter(d); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *session) showLetter(d api.DeadLetter) error {
	o, m := d.Origin, d.Message
	pairs := []string{
		"ID", m.MessageID, "died", agoText(m.PublishTime), "dead-letter topic", s.short(d.DeadLetterTopic), "owner", d.Owner,
		"held by", s.short(d.DeadLetterSubscription), "state there", peekText(api.PeekedMessageState(d.State)),
		"came from", s.short(o.Subscription), "topic", s.short(o.Topic), "message ID there", o.MessageID, "published", agoText(o.PublishTime),
		"attempts", fmt.Sprint(o.Attempts), "last error", o.LastError,
	}
	if o.RedrivenCount > 0 {
		pairs = append(pairs, "redriven", fmt.Sprintf("%d times, after %d attempts", o.RedrivenCount, o.FormerAttempts))
	}
	if f := d.FirstOrigin; f != nil {
		pairs = append(pairs, "died first at", s.short(f.Subscription), "message ID at first", f.MessageID, "first error", f.LastError)
	}
	for _, a := range o.FailedAttempts {
		pairs = append(pairs, fmt.Sprint("attempt ", a.Attempt), agoText(a.Time)+": "+a.Reason+" "+a.Answer)
	}
	pairs = append(pairs, "ordering key", m.OrderingKey, "attributes", mapText(m.Attributes), "data", payload(m.Data))
	return s.print.fields(pairs...)
}

func newDeadLettersRedrive(p process) *cobra.Command {
	var flags letterFlags
	var rate float64
	var dry, async, first bool
	c := &cobra.Command{
		Use: "redrive SUBSCRIPTION [ID…] | --topic TOPIC [ID…]", Short: "Send dead letters back to where they came from", Args: nArgs(0, -1),
		Long: `Send dead letters back, each to the subscription that it came from and to no other, with the message ID and the publish time
that it had, its attempts counted from one again. Without IDs it is all that the flags select; IDs that are not there are an error, after the
rest is done.

It goes on in the background. This command shows how far it is; Ctrl-C ends the command, not the work.`,
		Example: `  postrider dead-letters redrive billing --validate-only
  postrider dead-letters redrive billing --text 'timeout' --rate 50
  postrider dlq redrive --topic orders-dead 1767225900000-224217`,
	}
	flags.bind(p, c)
	c.Flags().Float64Var(&rate, "rate", 0, "`NUMBER` of messages a second at most; 0 is as many as can be")
	c.Flags().BoolVar(&first, "to-first", false, "send what died again as a dead letter to the subscription that it died at first")
	c.Flags().BoolVar(&dry, "validate-only", false, "count them, and do nothing")
	c.Flags().BoolVar(&async, "async", false, "do not wait for the end")
	c.ValidArgsFunction = completeFirst(p, listSubscriptions)
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		l, ids, err := flags.letters(s, args)
		if err != nil {
			return err
		}
		l.filter.MessageIDs = ids
		r := api.RedriveRequest{ToFirstOrigin: first, Filter: l.filter, DeadLetterSubscription: l.holder, MessagesPerSecond: rate, ValidateOnly: dry}
		begin := func() (api.Operation, error) {
			if l.topic.ID != "" {
				return call[api.Operation](s.RedriveTopicDeadLetters(ctx, l.topic.Project, l.topic.ID, r))
			}
			return call[api.Operation](s.RedriveSubscriptionDeadLetters(ctx, l.subscription.Project, l.subscription.ID, r))
		}
		return l.work(ctx, begin, func(op api.Operation) error { return s.follow(ctx, p, op, async) })
	})
}

func newDeadLettersPurge(p process) *cobra.Command {
	var flags letterFlags
	var dry, yes, async bool
	c := &cobra.Command{
		Use: "purge SUBSCRIPTION [ID…] | --topic TOPIC [ID…]", Short: "Drop dead letters for good", Args: nArgs(0, -1),
		Long: "Drop dead letters for good. Without IDs it is all that the flags select. It goes on in the background, as redrive does.",
		Example: `  postrider dead-letters purge billing --before 7d --validate-only
  postrider dead-letters purge billing --before 7d --yes`,
	}
	flags.bind(p, c)
	c.Flags().BoolVar(&dry, "validate-only", false, "count them, and do nothing")
	c.Flags().BoolVar(&yes, "yes", false, "do it; without this nothing is dropped")
	c.Flags().BoolVar(&async, "async", false, "do not wait for the end")
	c.MarkFlagsMutuallyExclusive("validate-only", "yes")
	c.ValidArgsFunction = completeFirst(p, listSubscriptions)
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		l, ids, err := flags.letters(s, args)
		if err != nil {
			return err
		}
		l.filter.MessageIDs = ids
		r := api.PurgeRequest{Filter: l.filter, DeadLetterSubscription: l.holder, ValidateOnly: !yes}
		begin := func() (api.Operation, error) {
			if l.topic.ID != "" {
				return call[api.Operation](s.PurgeTopicDeadLetters(ctx, l.topic.Project, l.topic.ID, r))
			}
			return call[api.Operation](s.PurgeSubscriptionDeadLetters(ctx, l.subscription.Project, l.subscription.ID, r))
		}
		return l.work(ctx, begin, func(op api.Operation) error {
			if !yes && !dry && op.Metadata.TotalMessages > 0 {
				return usagef("this would drop %s for good: say --yes to do it", totalText(op))
			}
			return s.follow(ctx, p, op, async)
		})
	})
}
