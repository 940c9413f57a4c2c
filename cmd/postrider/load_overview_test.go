//go:build load

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/storage/redistest"
	"postrider/subscriptions"
)

const (
	surveyedTopics = 1000
	surveyedEach   = 10   // subscriptions to each
	surveyedSent   = 1000 // messages to each
	overviewTakes  = 300 * time.Millisecond
	scrapeTakes    = time.Second
)

// Ten thousand subscriptions and a million messages: what an overview and a scrape take, of time and of Redis.
func TestLoadOverview(t *testing.T) {
	redis := redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = redis.URL() })
	start := time.Now()
	eachTopic(t, a.createSurveyed)
	awaitBacklog(t, a, 0)
	overviewEmpty, scrapeEmpty := a.timed(t, redis)
	eachTopic(t, a.fillSurveyed)
	awaitBacklog(t, a, surveyedTopics*surveyedSent*surveyedEach)
	t.Logf("made, filled and surveyed after %v", time.Since(start).Round(time.Second))
	overview, scrape := a.timed(t, redis)
	t.Logf("%d subscriptions: overview %v without and %v with %d messages, scrape %v and %v", surveyedTopics*surveyedEach,
		overviewEmpty, overview, surveyedTopics*surveyedSent, scrapeEmpty, scrape)
	if overview > overviewTakes {
		t.Errorf("an overview takes %v, more than %v", overview, overviewTakes)
	}
	if scrape > scrapeTakes {
		t.Errorf("a scrape takes %v, more than %v", scrape, scrapeTakes)
	}
}

func eachTopic(t *testing.T, do func(context.Context, int) error) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for i := range surveyedTopics {
		g.Go(func() error { return do(ctx, i) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func surveyedTopic(i int) subscriptions.TopicName {
	return subscriptions.TopicName{Project: defaultProject, ID: fmt.Sprintf("topic-%04d", i)}
}

func (a *testApp) createSurveyed(ctx context.Context, i int) error {
	if _, err := a.service.CreateTopic(ctx, subscriptions.Topic{Name: surveyedTopic(i)}); err != nil {
		return err
	}
	for j := range surveyedEach {
		_, err := a.service.CreateSubscription(ctx, subscriptions.Subscription{
			Topic: surveyedTopic(i), Name: subscriptions.SubscriptionName{Project: defaultProject, ID: fmt.Sprintf("sub-%04d-%d", i, j)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *testApp) fillSurveyed(ctx context.Context, i int) error {
	msgs := make([]subscriptions.Message, surveyedSent)
	for i := range msgs {
		msgs[i].Data = make([]byte, 100)
	}
	_, err := a.service.Publish(ctx, surveyedTopic(i), msgs)
	return err
}

// awaitBacklog waits until every subscription is surveyed and the overview knows of so many messages in all.
func awaitBacklog(t *testing.T, a *testApp, want int64) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		o, err := a.service.Overview(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var backlog int64
		measured := 0
		for i := range o.Subscriptions {
			backlog += o.Subscriptions[i].Stats.Backlog()
			if !o.Subscriptions[i].Measured.IsZero() {
				measured++
			}
		}
		if measured == surveyedTopics*surveyedEach && backlog == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d subscriptions are surveyed, with %d messages of %d", measured, surveyedTopics*surveyedEach, backlog, want)
		}
	}
}

// timed is the median of what an overview and a scrape take, when what they ask for is not kept from the one before.
func (a *testApp) timed(t *testing.T, redis *redistest.Server) (overview, scrape time.Duration) {
	t.Helper()
	var overviews, scrapes []time.Duration
	for range 5 {
		time.Sleep(1100 * time.Millisecond)
		before, start := redis.CommandCalls(t), time.Now()
		if _, err := a.service.Overview(t.Context()); err != nil {
			t.Fatal(err)
		}
		overviews = append(overviews, time.Since(start))
		if n := redis.CommandCalls(t).Since(before)["evalsha"]; n > 100 { // the sweep and a round of surveys may fall into it
			t.Errorf("an overview takes %d scripts", n)
		}
		time.Sleep(1100 * time.Millisecond)
		start = time.Now()
		if status, text := scrapeAs(t, a, ""); status != http.StatusOK || len(text) < 1_000_000 {
			t.Fatalf("%d, and %d bytes", status, len(text))
		}
		scrapes = append(scrapes, time.Since(start))
	}
	slices.Sort(overviews)
	slices.Sort(scrapes)
	return overviews[2], scrapes[2]
}
