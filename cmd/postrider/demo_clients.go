package main

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// The demonstration's names. Its project is the one that client commands use by default.
const (
	demoTopic        = "orders"
	demoSubscription = "billing"
	demoDead         = "orders-dead" // the dead-letter topic and its subscription
	demoEvery        = 700 * time.Millisecond
)

// clients set up the topics, publish, and read the dead letters, until ctx ends.
func (d *demo) clients(ctx context.Context) error {
	if err := d.setUp(ctx); err != nil {
		return unlessDone(ctx, err)
	}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return unlessDone(ctx, d.publish(ctx)) })
	parts.Go(func() error { return unlessDone(ctx, d.readDeadLetters(ctx)) })
	return parts.Wait()
}

// unlessDone drops an error that came of ctx having ended.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// setUp creates what the demonstration works with.
func (d *demo) setUp(ctx context.Context) error {
	for _, topic := range []string{demoTopic, demoDead} {
		if _, err := call[api.Topic](d.session.CreateTopic(ctx, defaultProject, topic, api.Topic{})); err != nil {
			return err
		}
	}
	topics := "projects/" + defaultProject + "/topics/"
	for id, sub := range map[string]api.Subscription{
		demoDead: {Topic: topics + demoDead},
		demoSubscription: {
			Topic:      topics + demoTopic,
			PushConfig: &api.PushConfig{PushEndpoint: "http://" + d.endpoint.Addr().String() + "/orders"},
			RetryPolicy: &api.RetryPolicy{
				MinimumBackoff: wire.NewDuration(demoRetry.Minimum), MaximumBackoff: wire.NewDuration(demoRetry.Maximum),
			},
			DeadLetterPolicy: &api.DeadLetterPolicy{DeadLetterTopic: topics + demoDead, MaxDeliveryAttempts: demoAttempts},
		},
	} {
		if _, err := call[api.Subscription](d.session.CreateSubscription(ctx, defaultProject, id, sub)); err != nil {
			return err
		}
	}
	return nil
}

// publish publishes an order now and then.
func (d *demo) publish(ctx context.Context) error {
	tick := time.NewTicker(demoEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		data, err := json.Marshal(order{n})
		if err != nil {
			return err
		}
		err = d.events.publishing(n, func() (string, error) {
			body := api.PublishRequest{Messages: []api.PubsubMessage{{Data: data}}}
			answer, err := call[api.PublishResponse](d.session.Publish(ctx, defaultProject, demoTopic, body))
			if err != nil {
				return "", err
			}
			return answer.MessageIDs[0], nil
		})
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// readDeadLetters pulls and acknowledges them as they come.
func (d *demo) readDeadLetters(ctx context.Context) error {
	name := subscriptions.SubscriptionName{Project: defaultProject, ID: demoDead}
	for {
		received, err := d.session.pull(ctx, name, api.PullRequest{MaxMessages: 10}, true)
		if err != nil {
			return err
		}
		ids := api.AcknowledgeRequest{AckIDs: ackIDs(received)}
		if _, err := call[api.Empty](d.session.Acknowledge(ctx, defaultProject, demoDead, ids)); err != nil {
			return err
		}
		for _, r := range received {
			d.events.deadLetter(*r.Message)
		}
	}
}
