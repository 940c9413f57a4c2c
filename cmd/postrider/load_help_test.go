//go:build load

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/storage/redistest"
)

// loadClient calls a server over connections of its own, as many as there are calls at once.
type loadClient struct {
	*testing.T
	*api.Client
	transport *http.Transport
}

func newLoadClient(t *testing.T, addr string) *loadClient {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := api.NewClient("http://"+addr, api.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return &loadClient{t, c, transport}
}

// fullTopic is a topic's name as subscriptions give it.
func fullTopic(id string) string { return "projects/" + defaultProject + "/topics/" + id }

func (c *loadClient) topic(ctx context.Context, id string) error {
	_, err := call[api.Topic](c.CreateTopic(ctx, defaultProject, id, api.Topic{}))
	return err
}

func (c *loadClient) subscription(ctx context.Context, id string, sub api.Subscription) error {
	_, err := call[api.Subscription](c.CreateSubscription(ctx, defaultProject, id, sub))
	return err
}

// must is for what is done before and beside the load.
func (c *loadClient) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// publish publishes n messages of some bytes.
func (c *loadClient) publish(ctx context.Context, topic string, n, size int) error {
	body := api.PublishRequest{Messages: make([]api.PubsubMessage, n)}
	for i := range body.Messages {
		body.Messages[i].Data = make(wire.Bytes, size)
	}
	_, err := call[api.PublishResponse](c.Publish(ctx, defaultProject, topic, body))
	return err
}

// pull asks once, and waits as long as the server does.
func (c *loadClient) pull(ctx context.Context, sub string, limit int) ([]api.ReceivedMessage, error) {
	answer, err := call[api.PullResponse](c.Pull(ctx, defaultProject, sub, api.PullRequest{MaxMessages: wire.Int32(limit)}))
	return answer.ReceivedMessages, err
}

func (c *loadClient) ack(ctx context.Context, sub string, received []api.ReceivedMessage) error {
	_, err := call[api.Empty](c.Acknowledge(ctx, defaultProject, sub, api.AcknowledgeRequest{AckIDs: ackIDs(received)}))
	return err
}

// isNotFound tells whether the server answered that what was asked for does not exist.
func isNotFound(err error) bool {
	var e serverError
	return errors.As(err, &e) && e.Status == "NOT_FOUND"
}

// each calls do with 0 to n-1, a few at a time.
func (c *loadClient) each(n int, do func(ctx context.Context, i int) error) {
	c.Helper()
	all, ctx := errgroup.WithContext(c.Context())
	all.SetLimit(8)
	for i := range n {
		all.Go(func() error { return do(ctx, i) })
	}
	c.must(all.Wait())
}

// newQuietEndpoint is a push endpoint that keeps nothing of what it gets, and its URL.
func newQuietEndpoint(t *testing.T, answer func(push) int) (url string) {
	t.Helper()
	s := httptest.NewServer(receiver(answer))
	t.Cleanup(s.Close)
	return s.URL
}

// commands counts what clients ask of a Redis. What a script asks of it does not count: INFO would not tell the two apart.
type commands struct {
	mu     sync.Mutex
	counts map[string]int
}

// countCommands counts until the test ends.
func countCommands(t *testing.T, redis *redistest.Server) *commands {
	t.Helper()
	connection, err := net.Dial("unix", redis.Socket())
	if err != nil {
		t.Fatal(err)
	}
	c, ended := &commands{counts: map[string]int{}}, make(chan struct{})
	t.Cleanup(func() {
		_ = connection.Close()
		<-ended
	})
	if _, err := io.WriteString(connection, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		c.read(connection)
	}()
	return c
}

// read reads lines such as
//
//	+1339518083.107412 [0 unix:/tmp/redis.sock] "hget" "key" "field"
//
// of which those of scripts have "lua" for an address.
func (c *commands) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // closed by the test's end
		}
		client, command, ok := strings.Cut(line, `] "`)
		if !ok || strings.HasSuffix(client, " lua") {
			continue
		}
		name, _, _ := strings.Cut(command, `"`)
		c.mu.Lock()
		c.counts[strings.ToLower(name)]++
		c.mu.Unlock()
	}
}

func (c *commands) now() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// total is how many came since then.
func (c *commands) total(since map[string]int) (n int) {
	for name, count := range c.now() {
		n += count - since[name]
	}
	return n
}

// idleBounds are what servers and Redis may do while nobody asks for anything.
type idleBounds struct {
	commands float64 // a second, by clients on Redis
	percent  float64 // of one core, by each server
}

const (
	idleWindow = 10 * time.Second
	// idleSlack is how many times the bound of a core's time a server may use here. The bound is for a machine of one's own; on
	// one that others use, the same work was seen to cost seven times as much. What must not be, such as a loop, costs more.
	idleSlack = 10
)

// hold waits until the servers have done what was left to do, and measures for a while.
func (b idleBounds) hold(t *testing.T, count *commands, servers ...*program) {
	t.Helper()
	awaitQuiet(t, count)
	rate, percent := measureIdle(t, count, servers)
	if rate >= b.commands {
		t.Errorf("%.1f commands a second on Redis, not under %.0f", rate, b.commands)
	}
	switch {
	case percent >= idleSlack*b.percent:
		t.Errorf("%.2f %% of a core, where it should be under %.0f %%", percent, b.percent)
	case percent >= b.percent:
		t.Logf("%.2f %% of a core, where it should be under %.0f %% on a machine of one's own", percent, b.percent)
	}
}

// measureIdle returns the commands on Redis a second, and what part of a core the busiest server used.
func measureIdle(t *testing.T, count *commands, servers []*program) (rate, percent float64) {
	t.Helper()
	before, start := count.now(), time.Now()
	used := make([]time.Duration, len(servers))
	for i, p := range servers {
		used[i] = p.cpu()
	}
	time.Sleep(idleWindow)
	elapsed := time.Since(start)
	for i, p := range servers {
		percent = max(percent, 100*float64(p.cpu()-used[i])/float64(elapsed))
	}
	by := map[string]int{}
	for name, n := range count.now() {
		if n -= before[name]; n > 0 {
			by[name] = n
		}
		rate += float64(by[name]) / elapsed.Seconds()
	}
	t.Logf("idle for %.1f s: %.1f commands a second on Redis %v, %.2f %% of a core", elapsed.Seconds(), rate, by, percent)
	return rate, percent
}

// awaitQuiet waits until a second passes with few commands. More than the tests allow: it is they who judge.
func awaitQuiet(t *testing.T, count *commands) {
	t.Helper()
	const few = 300
	for end := time.Now().Add(patience); ; {
		before := count.now()
		time.Sleep(time.Second)
		n := count.total(before)
		if n < few {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never idle: %d commands in the last second", n)
		}
	}
}

// cpu is the processor time that the process has used. Only Linux tells it of a process that still runs.
func (p *program) cpu() time.Duration {
	p.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.Fatalf("processor time is measured on Linux only: %v", err)
	}
	// See proc_pid_stat(5): after the name, which may hold anything, utime and stime are the 12th and 13th, in ticks.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const tick = time.Second / 100
	var total time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			p.Fatal(err)
		}
		total += time.Duration(n) * tick
	}
	return total
}
