package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// tailFlags are what "tail" is told.
type tailFlags struct {
	filter string
	since  moment
	ack    bool
	max    int
}

func newTail(p process) *cobra.Command {
	var flags tailFlags
	c := &cobra.Command{
		Use: "tail TOPIC|SUBSCRIPTION", Short: "Show messages as they come", GroupID: groupClient, Args: nArgs(1, 1),
		Long: `Show messages as they come, until Ctrl-C. A short name is a topic's or, if there is no such topic, a subscription's.

Nobody loses a message to it: it makes a subscription of its own, of the topic or with the topic, filter and routing of the
subscription, so that it shows what that one gets from now on. It deletes it at the end. One that could not be deleted, since
the program was killed, is named tail-…, has the label ` + tailLabel + `, keeps messages for 10 minutes and expires after a day.

With --ack it takes messages of the subscription itself, what waits there first, and acknowledges what it shows: no other
subscriber gets them.`,
		Example: `  postrider tail orders
  postrider tail billing --filter 'attributes.kind = "invoice"' --max 10
  postrider tail projects/shop/topics/orders --since 10m -o json | jq -r .message.data
  postrider tail billing --ack`,
	}
	c.Flags().StringVar(&flags.filter, "filter", "", "`EXPRESSION` over attributes, as of a subscription: show only these messages")
	c.Flags().Var(&flags.since, "since", "`TIME` from which on to show messages, or how long ago that was; the topic must retain them")
	c.Flags().BoolVar(&flags.ack, "ack", false, "take the messages of the subscription itself, and acknowledge them")
	c.Flags().IntVar(&flags.max, "max", 0, "`NUMBER` of messages after which to end; without it there is no end")
	c.ValidArgsFunction = completeFirst(p, listTopics, listSubscriptions)
	c.MarkFlagsMutuallyExclusive("ack", "filter")
	c.MarkFlagsMutuallyExclusive("ack", "since")
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		if flags.max < 0 || flags.max == 0 && c.Flags().Changed("max") {
			return usagef("--max: %d is not a positive number", flags.max)
		}
		return (&tail{session: s, tailFlags: flags, notes: p.err}).run(ctx, args[0])
	})
}

// tailLabel marks subscriptions that are there for a tail alone.
const tailLabel = "postrider-tail"

// tail is one run of the command.
type tail struct {
	*session
	tailFlags
	notes io.Writer
	shown int
}

// run shows messages of what is named until it is interrupted or has shown enough.
func (t *tail) run(ctx context.Context, arg string) error {
	// What ends other programs at once ends this one with its subscription deleted: a closed terminal, and a closed pipe,
	// which shows as an error of writing.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	own, subscription, err := t.source(ctx, arg)
	if err != nil {
		return err
	}
	if t.ack {
		fmt.Fprintf(t.notes, "postrider: taking the messages of %s: other subscribers do not get what is shown here\n", subscription)
		return t.follow(ctx, subscription)
	}
	return t.temporarily(ctx, own, t.follow)
}

// source finds what is to be shown: the subscription to make for it or, with --ack, the one that there is.
func (t *tail) source(ctx context.Context, arg string) (own api.Subscription, existing subscriptions.SubscriptionName, err error) {
	if !t.ack && !strings.Contains(arg, "/subscriptions/") {
		topic, err := t.topicOf(ctx, arg)
		if err == nil || strings.Contains(arg, "/") || !notThere(err) {
			return api.Subscription{Topic: topic.Name, Filter: t.filter}, existing, err
		}
	}
	name, err := t.subscription(arg)
	if err != nil {
		return own, name, err
	}
	of, err := call[api.Subscription](t.GetSubscription(ctx, name.Project, name.ID))
	switch {
	case notThere(err) && !strings.Contains(arg, "/") && !t.ack:
		return own, name, fmt.Errorf("there is neither a topic nor a subscription %q in the project %s", arg, t.project)
	case err != nil || t.ack:
		return own, name, err
	case of.Detached || of.Topic == subscriptions.DeletedTopic:
		return own, name, fmt.Errorf("%s gets no messages any more; --ack shows what waits there", name)
	}
	own = api.Subscription{Topic: of.Topic, Filter: bothFilters(of.Filter, t.filter)}
	if x := of.Postrider; x != nil && x.Routing != nil {
		own.Postrider = &api.SubscriptionExtensions{Routing: x.Routing}
	}
	return own, name, nil
}

func (t *tail) topicOf(ctx context.Context, arg string) (api.Topic, error) {
	name, err := t.topic(arg)
	if err != nil {
		return api.Topic{}, err
	}
	return call[api.Topic](t.GetTopic(ctx, name.Project, name.ID))
}

// bothFilters selects what both select.
func bothFilters(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return "(" + a + ") AND (" + b + ")"
}

// The subscription of a tail lives as short as one can, should it be left over, and lets a pager be read for a while.
const (
	tailRetention   = subscriptions.MinRetention
	tailExpiration  = subscriptions.MinExpiration
	tailAckDeadline = subscriptions.MaxAckDeadline
	// tailCleanup bounds the requests after an interruption.
	tailCleanup = 10 * time.Second
)

// temporarily makes a subscription, and deletes it when do is over, whatever ended it.
func (t *tail) temporarily(ctx context.Context, own api.Subscription, do func(context.Context, subscriptions.SubscriptionName) error) (err error) {
	topic, err := subscriptions.ParseTopicName("topic", own.Topic)
	if err != nil {
		return err
	}
	own.Labels = map[string]string{tailLabel: ""}
	own.AckDeadlineSeconds = wire.Int32(tailAckDeadline / time.Second)
	own.MessageRetentionDuration = wire.NewDuration(tailRetention)
	own.ExpirationPolicy = &api.ExpirationPolicy{TTL: wire.NewDuration(tailExpiration)}
	name := subscriptions.SubscriptionName{Project: topic.Project, ID: "tail-" + strings.ToLower(rand.Text())}

	// An interruption lets the request be answered: only so is it known what there is to delete.
	final, cancel := context.WithTimeout(context.WithoutCancel(ctx), tailCleanup)
	defer cancel()
	if _, err := call[api.Subscription](t.CreateSubscription(final, name.Project, name.ID, own)); err != nil {
		if !errors.As(err, new(serverError)) { // it may have been created all the same
			_, _ = call[api.Empty](t.DeleteSubscription(final, name.Project, name.ID))
		}
		return err
	}
	defer func() {
		final, cancel := context.WithTimeout(context.WithoutCancel(ctx), tailCleanup)
		defer cancel()
		if _, failed := call[api.Empty](t.DeleteSubscription(final, name.Project, name.ID)); failed != nil && !notThere(failed) {
			err = errors.Join(err, fmt.Errorf("%s is left over and expires after a day: %w", name, failed))
		}
	}()
	if err := t.seekBack(ctx, name, topic); err != nil {
		return err
	}
	return do(ctx, name)
}

// seekBack lets the messages since a time come, as far as the topic has kept them.
func (t *tail) seekBack(ctx context.Context, name subscriptions.SubscriptionName, of subscriptions.TopicName) error {
	if t.since.IsZero() {
		return nil
	}
	topic, err := call[api.Topic](t.GetTopic(ctx, of.Project, of.ID))
	if err != nil {
		return err
	}
	if topic.MessageRetentionDuration == nil {
		return fmt.Errorf("--since: %s keeps no messages to go back to (see \"postrider topics update --message-retention-duration\")", of)
	}
	_, err = call[api.SeekResponse](t.Seek(ctx, name.Project, name.ID, api.SeekRequest{Time: wire.NewTimestamp(t.since.Time)}))
	return err
}

// tailBatch is how many messages are asked for at a time: what is not shown when the command ends comes again, but not at once.
const tailBatch = 100

// follow shows messages until it is interrupted or has shown enough.
func (t *tail) follow(ctx context.Context, name subscriptions.SubscriptionName) error {
	for t.max == 0 || t.shown < t.max {
		batch := tailBatch
		if t.max > 0 {
			batch = min(batch, t.max-t.shown)
		}
		var received []api.ReceivedMessage
		err := t.patiently(ctx, func(ctx context.Context) (err error) {
			received, err = t.pull(ctx, name, api.PullRequest{MaxMessages: wire.Int32(batch)}, false)
			return err
		})
		if err != nil {
			return err
		}
		if err := t.show(ctx, name, received); err != nil {
			if errors.Is(err, syscall.EPIPE) {
				return nil // whoever read has seen enough
			}
			return err
		}
	}
	return nil
}

// show prints messages and acknowledges those that it printed.
func (t *tail) show(ctx context.Context, name subscriptions.SubscriptionName, received []api.ReceivedMessage) error {
	printed, wrong := 0, error(nil)
	for _, r := range received {
		ackless := r
		ackless.AckID = "" // it is used up
		if wrong = t.print.next(ackless, func() error { return t.print.line("%s", receivedText(r)) }); wrong != nil {
			break
		}
		printed++
	}
	t.shown += printed
	if printed < len(received) && t.ack {
		t.giveBack(ctx, name, received[printed:])
	}
	if printed == 0 {
		return wrong
	}
	body := api.AcknowledgeRequest{AckIDs: ackIDs(received[:printed])}
	err := t.patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tailCleanup)
		defer cancel()
		_, err := call[api.Empty](t.Acknowledge(ctx, name.Project, name.ID, body))
		return err
	})
	return errors.Join(wrong, err)
}

// giveBack lets others have what could not be shown. Should that fail, they get it when the lease is over.
func (t *tail) giveBack(ctx context.Context, name subscriptions.SubscriptionName, received []api.ReceivedMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tailCleanup)
	defer cancel()
	body := api.ModifyAckDeadlineRequest{AckIDs: ackIDs(received)}
	_, _ = call[api.Empty](t.ModifyAckDeadline(ctx, name.Project, name.ID, body))
}

// receivedText is a message on one line, for people.
func receivedText(r api.ReceivedMessage) string {
	m := r.Message
	if m == nil {
		m = &api.PubsubMessage{}
	}
	text := timeText(m.PublishTime) + "  " + printable(payload(m.Data))
	if len(m.Attributes) > 0 {
		text += " [" + printable(mapText(m.Attributes)) + "]"
	}
	if m.OrderingKey != "" {
		text += " (ordering key " + printable(m.OrderingKey) + ")"
	}
	text += " (message " + m.MessageID
	if r.DeliveryAttempt > 1 {
		text += fmt.Sprintf(", attempt %d", r.DeliveryAttempt)
	}
	return text + ")"
}

// pollTimeout is longer than a server waits for a message, and ends what a server that vanished would never answer.
const pollTimeout = 2 * time.Minute

// patiently does something until it works, ever less often up to every 10 seconds, as long as trying again makes sense. What
// the interruption broke off is no error of the server.
func (t *tail) patiently(ctx context.Context, do func(context.Context) error) error {
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(10*time.Second), backoff.WithMaxElapsedTime(0))
	told := false
	for {
		attempt, cancel := context.WithTimeout(ctx, pollTimeout)
		err := do(attempt)
		cancel()
		switch {
		case err == nil:
			if told {
				fmt.Fprintln(t.notes, "postrider: the server is back")
			}
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passing(err):
			return err
		case !told:
			fmt.Fprintf(t.notes, "postrider: %v; trying again until it works\n", err)
			told = true
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// passing tells whether an error may go away by itself: the server is not reached, or says so.
func passing(err error) bool {
	var e serverError
	if !errors.As(err, &e) {
		return true
	}
	switch subscriptions.Code(e.Status) {
	case subscriptions.Unavailable, subscriptions.ResourceExhausted, subscriptions.Internal, subscriptions.DeadlineExceeded, subscriptions.Aborted:
		return true
	}
	return false
}
