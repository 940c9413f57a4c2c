//go:build load

package main

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/storage/redistest"
)

const (
	rateClients = 8
	rateBatch   = 100
	rateSize    = 256
	rateTime    = 4 * time.Second
)

// How many messages a second go through a server over REST, and what each costs. It is printed, not judged: server, Redis and
// clients share the machine, with whatever else runs there.
func TestLoadRates(t *testing.T) {
	redis := redistest.Start(t)
	processes, addrs := startServers(t, redis, 1)
	c, m := newLoadClient(t, addrs[0]), &meter{T: t, redis: redis, server: processes[0]}
	ctx := t.Context()
	c.must(c.topic(ctx, "pulled"))
	c.must(c.subscription(ctx, "pulled", api.Subscription{Topic: fullTopic("pulled")}))
	m.measure("publish", func() int {
		return c.beside(func(context.Context) (int, error) {
			return rateBatch, c.publish(ctx, "pulled", rateBatch, rateSize)
		})
	})
	m.measure("pull and ack", func() int {
		return c.beside(func(fetch context.Context) (int, error) {
			received, err := c.pull(fetch, "pulled", rateBatch)
			if err != nil || len(received) == 0 {
				return 0, unlessDone(fetch, err)
			}
			return len(received), c.ack(ctx, "pulled", received)
		})
	})

	var pushed atomic.Int64
	endpoint := newQuietEndpoint(t, func(push) int { pushed.Add(1); return 204 })
	c.must(c.topic(ctx, "pushed"))
	c.must(c.subscription(ctx, "pushed", api.Subscription{
		Topic: fullTopic("pushed"), PushConfig: &api.PushConfig{PushEndpoint: endpoint},
	}))
	m.measure("publish and push", func() int {
		const count = 10_000
		c.each(count/rateBatch, func(ctx context.Context, _ int) error { return c.publish(ctx, "pushed", rateBatch, rateSize) })
		eventually(t, func() error {
			if pushed.Load() < count {
				return errNotYet
			}
			return nil
		})
		return count
	})
}

// beside lets several clients do something again and again for some time, and returns how many messages that were.
func (c *loadClient) beside(do func(fetch context.Context) (int, error)) int {
	c.Helper()
	fetch, stop := context.WithTimeout(c.Context(), rateTime)
	defer stop()
	var total atomic.Int64
	var all errgroup.Group
	for range rateClients {
		all.Go(func() error {
			for fetch.Err() == nil {
				n, err := do(fetch)
				if err != nil {
					return err
				}
				total.Add(int64(n))
			}
			return nil
		})
	}
	c.must(all.Wait())
	return int(total.Load())
}

// meter measures what messages cost.
type meter struct {
	*testing.T
	redis  *redistest.Server
	server *program
}

// cost is what was used up to a moment.
type cost struct {
	at                     time.Time
	redis, scripts, server time.Duration
}

func (m *meter) now() cost {
	m.Helper()
	info := m.redis.Info(m, "cpu")
	return cost{
		at:      time.Now(),
		redis:   m.seconds(info["used_cpu_sys_main_thread"]) + m.seconds(info["used_cpu_user_main_thread"]),
		scripts: m.scripts(),
		server:  m.server.cpu(),
	}
}

// scripts is the time that passed while Redis ran scripts, so it is more than their processor time on a busy machine.
func (m *meter) scripts() time.Duration {
	m.Helper()
	_, rest, _ := strings.Cut(m.redis.Info(m, "commandstats")["cmdstat_evalsha"], "usec=")
	micros, _, _ := strings.Cut(rest, ",")
	if micros == "" {
		return 0
	}
	return m.seconds(micros) / 1_000_000
}

func (m *meter) seconds(text string) time.Duration {
	m.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		m.Fatal(err)
	}
	return time.Duration(f * float64(time.Second))
}

// measure does something and prints what each message cost.
func (m *meter) measure(what string, do func() (messages int)) {
	m.Helper()
	before := m.now()
	n := do()
	after := m.now()
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	m.Logf("%s: %.0f messages a second; µs a message: Redis %.1f (scripts lasted %.1f), server %.1f", what,
		float64(n)/after.at.Sub(before.at).Seconds(),
		each(after.redis-before.redis), each(after.scripts-before.scripts), each(after.server-before.server))
}
