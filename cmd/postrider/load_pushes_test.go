//go:build load

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"postrider/server/api"
	"postrider/storage/redistest"
)

// idlePushes are four on each topic: most steps are one a subscription or one a topic.
const idlePushes = 10_000

// Ten thousand idle push subscriptions cost Redis and the server as little as a thousand may: nothing is done for each but a
// sweep every ten minutes.
func TestLoadIdlePushes(t *testing.T) {
	redis := redistest.Start(t)
	count := countCommands(t, redis)
	processes, addrs := startServers(t, redis, 1)
	c := newLoadClient(t, addrs[0])
	c.each(idlePushes/4, func(ctx context.Context, i int) error { return c.topic(ctx, topicID(i)) })
	c.each(idlePushes, func(ctx context.Context, i int) error {
		return c.subscription(ctx, fmt.Sprintf("push-%d", i), api.Subscription{
			Topic: fullTopic(topicID(i / 4)), PushConfig: &api.PushConfig{PushEndpoint: "http://127.0.0.1:9/"},
		})
	})
	thousandIdle.hold(t, count, processes...)
}

// pushBacklog is what waits for an endpoint that does not answer, and flatBytes by how much the server may grow for it.
const (
	pushBacklog = 1_000_000
	flatBytes   = 64 << 20
)

// A server needs no more memory where a million messages wait for an endpoint: it holds what its window allows.
func TestLoadPushBacklog(t *testing.T) {
	redis := redistest.Start(t)
	processes, addrs := startServers(t, redis, 1)
	c := newLoadClient(t, addrs[0])
	var pushed atomic.Int64
	first, release := make(chan struct{}), make(chan struct{})
	url := newQuietEndpoint(t, func(push) int {
		if pushed.Add(1) == 1 {
			close(first)
		}
		<-release
		return 503
	})
	defer close(release)
	c.must(c.topic(t.Context(), "stuck"))
	c.must(c.subscription(t.Context(), "stuck", api.Subscription{
		Topic: fullTopic("stuck"), AckDeadlineSeconds: 600, PushConfig: &api.PushConfig{PushEndpoint: url},
	}))
	fill := func(messages int) int64 {
		c.each(messages/1000, func(ctx context.Context, _ int) error { return c.publish(ctx, "stuck", 1000, 256) })
		return processes[0].resident()
	}
	before := fill(pushBacklog / 10)
	<-first
	after := fill(pushBacklog)
	t.Logf("the server has %d MB with %d messages that wait for an endpoint and %d MB with %d; %d are with the endpoint",
		before>>20, pushBacklog/10, after>>20, pushBacklog+pushBacklog/10, pushed.Load())
	if after-before > flatBytes {
		t.Errorf("it grew by %d MB, not %d at most", (after-before)>>20, flatBytes>>20)
	}
}

// resident is how much memory the process has.
func (p *program) resident() int64 {
	p.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.Fatalf("memory is measured on Linux only: %v", err)
	}
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(line)[0], 10, 64)
	if err != nil {
		p.Fatal(err)
	}
	return kb << 10
}
