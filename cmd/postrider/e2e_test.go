package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"postrider/server/api"
	"postrider/storage/redistest"
)

func TestPushIsDeliveredAndAcked(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, a *testApp) {
		e := newEndpoint(t, always(204))
		c := client(t, a.Addr())
		c.run("topics", "create", "orders")
		c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", e.url)
		id := strings.TrimSpace(c.run("publish", "orders", "hello", "--attribute", "k=v"))
		data, p := e.next()
		if data != "hello" || p.Message.Attributes["k"] != "v" || p.Message.MessageID != id || p.DeliveryAttempt != 0 ||
			p.Subscription != "projects/demo/subscriptions/billing" {
			t.Errorf("pushed %+v", p)
		}
		eventually(t, func() error {
			if s := stats(t, a.store, "billing"); s.Acked != 1 || s.Outstanding != 0 {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
	})
}

func TestRefusedPushIsRetriedThenDeadLettered(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, a *testApp) {
		e := newEndpoint(t, func(p push) int {
			if string(p.Message.Data) == "flaky" && p.DeliveryAttempt == 3 {
				return 200
			}
			return 503
		})
		c := client(t, a.Addr())
		for _, topic := range []string{"orders", "orders-dead"} {
			c.run("topics", "create", topic)
		}
		c.run("subscriptions", "create", "orders-dead", "--topic", "orders-dead")
		c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", e.url,
			"--min-retry-delay", "10ms", "--max-retry-delay", "100ms", "--dead-letter-topic", "orders-dead", "--max-delivery-attempts", "5")
		c.run("publish", "orders", "flaky", "poison", "--attribute", "k=v")

		var dead []api.ReceivedMessage
		decode(t, c.run("pull", "orders-dead", "--wait", "-o", "json"), &dead)
		m := dead[0].Message
		if string(m.Data) != "poison" || m.Attributes["k"] != "v" || m.Attributes["CloudPubSubDeadLetterSourceDeliveryCount"] != "5" ||
			m.Attributes["CloudPubSubDeadLetterSourceSubscription"] != "billing" {
			t.Errorf("dead letter %+v", m)
		}
		attempts := map[string]int{}
		for range 8 {
			data, p := e.next()
			if attempts[data]++; p.DeliveryAttempt != attempts[data] {
				t.Errorf("push %d of %s says attempt %d", attempts[data], data, p.DeliveryAttempt)
			}
		}
		if attempts["flaky"] != 3 || attempts["poison"] != 5 {
			t.Errorf("pushed %v", attempts)
		}
		eventually(t, func() error {
			if s := stats(t, a.store, "billing"); s.Acked != 1 || s.DeadLettered != 1 || s.Outstanding != 0 {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
	})
}

// What one server takes wakes those who wait at another.
func TestPublishedAtOnePulledAtTheOther(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	onRedis := func(c *Config) { c.RedisURL = redis.URL() }
	a, b := startApp(t, onRedis), startApp(t, onRedis)
	atA, atB := client(t, a.Addr()), client(t, b.Addr())
	atA.run("topics", "create", "orders")
	atA.run("subscriptions", "create", "billing", "--topic", "orders")

	before := channels(t, redis)
	pulled := make(chan string, 1)
	go func() { pulled <- atB.run("pull", "billing", "--wait", "--auto-ack") }()
	eventually(t, func() error {
		if channels(t, redis) == before {
			return errNotYet
		}
		return nil
	})
	start := time.Now()
	atA.run("publish", "orders", "hello")
	if got := <-pulled; !strings.Contains(got, "hello") {
		t.Errorf("pulled:\n%s", got)
	}
	// Without the wake-up it would be the check every few seconds that finds it.
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

// channels is how many channels somebody listens to: one more once a pull waits.
func channels(t *testing.T, redis *redistest.Server) int {
	t.Helper()
	names, err := redis.Client(t).PubSubChannels(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// A push that does not end in time is broken off and given back, and the attempt does not count.
func TestDrainGivesBackWhatItBreaksOff(t *testing.T) {
	t.Parallel()
	a := startApp(t, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
	release := make(chan struct{})
	e := newEndpoint(t, func(push) int { <-release; return 200 })
	t.Cleanup(func() { close(release) })
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", e.url, "--dead-letter-topic", "orders")
	c.run("publish", "orders", "slow")
	if _, p := e.next(); p.DeliveryAttempt != 1 {
		t.Fatalf("pushed as attempt %d", p.DeliveryAttempt)
	}
	a.stop()
	if s := stats(t, a.store, "billing"); s.Acked+s.Nacked+s.Expired != 0 || s.Outstanding+s.Undelivered != 1 {
		t.Errorf("%+v", s)
	}
}

// The demonstration shows its main job within seconds, on either store, and nothing but events.
func TestDemoShowsADeadLetter(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		checkDemo(t, commandLine{T: t}.run("demo", "--for", "11s"), "a private Redis")
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		demo := startProgram(t, []string{"PATH="}, "demo", "--for", "11s")
		if status := demo.wait(); status != 0 || demo.errors.String() != "" {
			t.Errorf("exit status %d, %s", status, demo.errors.String())
		}
		checkDemo(t, demo.output.String(), "memory (private Redis: redis-server is not on PATH")
	})
}

func checkDemo(t *testing.T, out, place string) {
	t.Helper()
	for _, want := range []string{
		place, "published      order 1 as message", "order 1, attempt 1 -> 200, acked",
		"order 3, attempt 1 -> 503, retry in 0.4s to 0.6s", "order 4, attempt 3 -> 200, acked",
		"order 3, attempt 5 -> 503, the last attempt", "order 3, after 5 attempts; pulled from orders-dead and acked",
		"1 dead-lettered",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// What the demonstration tells to paste works while it runs.
func TestDemoTakesMessagesFromOutside(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out := &watchedOutput{}
	done := make(chan error, 1)
	go func() { done <- runDemo(ctx, process{out: out, err: out}) }()
	eventually(t, func() error {
		if !strings.Contains(out.String(), "order 1, attempt 1") {
			return errNotYet
		}
		return nil
	})
	_, command, _ := strings.Cut(out.String(), "publish orders hello --server ")
	server, _, _ := strings.Cut(command, "\n")
	commandLine{T: t}.run("publish", "orders", "hello", "--server", server)
	eventually(t, func() error {
		if !strings.Contains(out.String(), "hello, attempt 1 -> 200, acked") {
			return errNotYet
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "0 dead-lettered") {
		t.Errorf("no summary in\n%s", out.String())
	}
}

// Labels of JSON are the API's own, so that what scripts read is documented.
func TestJSONIsTheAPIs(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	var sub map[string]any
	if err := json.Unmarshal([]byte(c.run("subscriptions", "create", "billing", "--topic", "orders", "-o", "json")), &sub); err != nil {
		t.Fatal(err)
	}
	if sub["ackDeadlineSeconds"] != 10.0 || sub["messageRetentionDuration"] != "604800s" {
		t.Errorf("got %v", sub)
	}
}
