package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// restart is within what time of its death a server that is started again serves.
const restart = 5 * time.Second

func TestKilledServerFindsItsDataDir(t *testing.T) {
	t.Parallel()
	killOnDataDir(t, 5) // 20 times among the load tests
}

// killOnDataDir kills a server on a data directory under load, again and again, and starts it again. What publishers were
// answered is there, and each delivery counts as an attempt: what was given back, and what was leased when the server died.
func killOnDataDir(t *testing.T, kills int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	server, s := startOnDataDir(t, dir)
	s.run("topics", "create", "dead")
	for _, topic := range []string{"orders", "load"} {
		s.run("topics", "create", topic)
		s.run("subscriptions", "create", topic, "--topic", topic, "--dead-letter-topic", "dead", "--max-delivery-attempts", "100",
			"--min-retry-delay", "1ms", "--max-retry-delay", "1ms")
	}
	s.run("publish", "orders", "nacked", "leased")
	var answered, seen ledger
	var longest time.Duration
	for i := range kills {
		s.giveBack(s.attempt(2*i+1), 0)
		second := s.attempt(2*i + 2)
		s.giveBack(second[:1], 0)
		s.giveBack(second[1:], time.Second) // leased still when the server is killed
		s.loadAndKill(server, &answered)
		killed := time.Now()
		server, s = startOnDataDir(t, dir)
		longest = max(longest, time.Since(killed))
	}
	t.Logf("%d kills, %d messages answered; served again within %v", kills, answered.size(), longest)
	if longest > restart {
		t.Errorf("served again only after %v", longest)
	}
	eventually(t, func() error {
		for _, m := range s.pulled("load") {
			seen.add("load", m.Message.MessageID)
		}
		return seen.holds(&answered)
	})
}

// dataDirServer is what the test does with a server on a data directory.
type dataDirServer struct {
	commandLine
	*session
}

func startOnDataDir(t *testing.T, dir string) (*program, dataDirServer) {
	t.Helper()
	p, addr := startServer(t, "--data-dir", dir)
	s, err := newSession(process{}, clientFlags{server: addr})
	if err != nil {
		t.Fatal(err)
	}
	return p, dataDirServer{client(t, addr), s}
}

// pulled leases what there is of a subscription, once there is something.
func (s dataDirServer) pulled(id string) []api.ReceivedMessage {
	s.Helper()
	name := subscriptions.SubscriptionName{Project: defaultProject, ID: id}
	messages, err := s.pull(s.Context(), name, api.PullRequest{MaxMessages: 1000}, true)
	if err != nil {
		s.Fatal(err)
	}
	return messages
}

// attempt leases the two messages of "orders", which must be delivered for the nth time, sorted by their data.
func (s dataDirServer) attempt(n int) []api.ReceivedMessage {
	s.Helper()
	var messages []api.ReceivedMessage
	for len(messages) < 2 {
		messages = append(messages, s.pulled("orders")...)
	}
	for _, m := range messages {
		if int(m.DeliveryAttempt) != n {
			s.Errorf("attempt %d of %s, not %d", m.DeliveryAttempt, m.Message.Data, n)
		}
	}
	slices.SortFunc(messages, func(a, b api.ReceivedMessage) int {
		return -strings.Compare(string(a.Message.Data), string(b.Message.Data))
	})
	return messages
}

// giveBack has messages delivered again after a while.
func (s dataDirServer) giveBack(messages []api.ReceivedMessage, after time.Duration) {
	s.Helper()
	request := api.ModifyAckDeadlineRequest{AckIDs: ackIDs(messages), AckDeadlineSeconds: wire.Int32(after / time.Second)}
	if _, err := call[api.Empty](s.ModifyAckDeadline(s.Context(), defaultProject, "orders", request)); err != nil {
		s.Fatal(err)
	}
}

// loadAndKill publishes from several connections, and kills the server when some hundred messages more were answered.
func (s dataDirServer) loadAndKill(server *program, answered *ledger) {
	s.Helper()
	goal := answered.size() + 500
	var load errgroup.Group
	for range 4 {
		load.Go(func() error {
			for {
				body := api.PublishRequest{Messages: slices.Repeat([]api.PubsubMessage{{Data: []byte("x")}}, 10)}
				answer, err := call[api.PublishResponse](s.Publish(s.Context(), defaultProject, "load", body))
				if err != nil {
					return nil // the server is dead, and has answered nothing
				}
				for _, id := range answer.MessageIDs {
					answered.add("load", id)
				}
			}
		})
	}
	eventually(s.T, func() error { return answered.atLeast(goal) })
	server.signal(os.Kill)
	server.wait()
	_ = load.Wait()
}

// Readiness tells what ended the private Redis, and that it is back.
func TestReadinessTellsOfThePrivateRedis(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	a := startApp(t, func(c *Config) { c.DataDir = dir })
	url := "http://" + a.Addr() + "/readyz"
	ready := func() error {
		if status, body := request(t, http.MethodGet, url, nil); status != 200 || strings.Contains(body, "warnings") {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	}
	eventually(t, ready)
	if want := "a private Redis in " + dir; a.store.place != want {
		t.Errorf("messages are kept in %s, not in %s", a.store.place, want)
	}
	stopRedis(t, dir)
	eventually(t, func() error {
		status, body := request(t, http.MethodGet, url, nil)
		if status != 503 || !strings.Contains(body, "redis-server ended (exit status 0)") {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	eventually(t, ready)
}

// stopRedis ends the redis-server of a data directory, as somebody might by mistake.
func stopRedis(t *testing.T, dir string) {
	t.Helper()
	redis := redis.NewClient(&redis.Options{Network: "unix", Addr: filepath.Join(dir, "redis/redis.sock"), DisableIdentity: true,
		MaxRetries:               -1, // the connection breaks when it is done; a second try finds nobody
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	defer redis.Close()
	if err := redis.Shutdown(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// A second server on a data directory is refused, by a message that names the first.
func TestDataDirHasOneServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	a := startApp(t, func(c *Config) { c.DataDir = dir })
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--data-dir", dir}
	status, _, errors := commandLine{T: t}.try("", serve...)
	if status != exitFailure || !strings.Contains(errors, fmt.Sprintf("in use by another server (process %d", os.Getpid())) {
		t.Errorf("exit status %d, %s", status, errors)
	}
	a.stop()
	second := startProgram(t, nil, serve...)
	eventually(t, func() error {
		if !strings.Contains(second.errors.String(), "listening on ") {
			return errNotYet
		}
		return nil
	})
	second.signal(syscall.SIGTERM)
	if status := second.wait(); status != 0 {
		t.Errorf("exit status %d, %s", status, second.errors.String())
	}
}

func TestDataDirThatCannotBe(t *testing.T) {
	t.Parallel()
	config := Config{Listen: "127.0.0.1:0", DataDir: "/proc/postrider"}
	if _, err := newApp(t.Context(), config, newLogger(io.Discard, config)); err == nil || !strings.Contains(err.Error(), "/proc/postrider") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	config.DataDir = filepath.Join(t.TempDir(), "data")
	if _, err := newApp(ctx, config, newLogger(io.Discard, config)); err == nil {
		t.Error("started after a signal")
	}
}
