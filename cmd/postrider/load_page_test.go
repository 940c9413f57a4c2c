//go:build load

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dustin/go-humanize"

	"postrider/server/api"
	"postrider/storage/redistest"
)

const (
	manySubscriptions = 10_000
	manyTopics        = 100
	manyMessages      = 1_000_000
	// overviewWithin is how long the overview may take.
	overviewWithin = 300 * time.Millisecond
)

// The first page answers at once, however many subscriptions there are and however much waits; sorting and filtering, too.
func TestLoadOverviewOfMany(t *testing.T) {
	redis := redistest.Start(t)
	_, addr := startServer(t, "--redis-url", redis.URL())
	c := newLoadClient(t, addr)
	began := time.Now()
	c.each(manyTopics, func(ctx context.Context, i int) error { return c.topic(ctx, fmt.Sprintf("topic-%03d", i)) })
	c.each(manySubscriptions, func(ctx context.Context, i int) error {
		return c.subscription(ctx, fmt.Sprintf("subscription-%05d", i), api.Subscription{Topic: fullTopic(fmt.Sprintf("topic-%03d", i%manyTopics))})
	})
	t.Logf("%d subscriptions made in %v", manySubscriptions, time.Since(began).Round(time.Second))
	empty := timeOverview(t, addr, "/")
	began = time.Now()
	c.each(manyMessages/1000, func(ctx context.Context, i int) error {
		return c.publish(ctx, fmt.Sprintf("topic-%03d", i%manyTopics), 1000, 64)
	})
	t.Logf("%d messages published in %v", manyMessages, time.Since(began).Round(time.Second))
	// The survey comes round to every topic within seconds.
	all := fmt.Sprintf("<dd>%s</dd>", humanize.Comma(manyMessages/manyTopics*manySubscriptions))
	eventually(t, func() error {
		if _, page := timedOverview(t, addr, "/"); !strings.Contains(page, all) {
			return errNotYet
		}
		return nil
	})
	for _, path := range []string{"/", "/?sort=backlog&dir=down", "/?q=subscription-0777", "/?sort=name&page=100"} {
		full := timeOverview(t, addr, path)
		t.Logf("%s takes %v; without messages / took %v", path, full, empty)
		if full > overviewWithin {
			t.Errorf("%s takes %v", path, full)
		}
	}
}

// timeOverview is how long an address takes: the median of some times, since others use the machine, too.
func timeOverview(t *testing.T, addr, path string) time.Duration {
	t.Helper()
	var all []time.Duration
	for range 15 {
		took, _ := timedOverview(t, addr, path)
		all = append(all, took)
	}
	slices.Sort(all)
	return all[len(all)/2].Round(time.Millisecond)
}

// timedOverview is a page, and how long it took.
func timedOverview(t *testing.T, addr, path string) (time.Duration, string) {
	t.Helper()
	began := time.Now()
	answer, err := http.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s is answered %d, %v", path, answer.StatusCode, err)
	}
	return time.Since(began), string(body)
}
