package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"postrider/storage/redistest"
)

func TestListeningBeyondLoopbackIsRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		status, _, errors := commandLine{T: t}.try("", "serve", "--listen", address)
		if status != exitUsage || !strings.Contains(errors, "--allow-unauthenticated") {
			t.Errorf("%s: exit status %d, %s", address, status, errors)
		}
	}
	startApp(t, func(c *Config) { c.Listen, c.AllowUnauthenticated = "0.0.0.0:0", true })
	startApp(t, func(c *Config) { c.Listen = "localhost:0" })
}

func TestArgumentsOfServeAreNotRepeated(t *testing.T) {
	t.Parallel()
	status, _, errors := commandLine{T: t}.try("", "serve", "redis://:hunter2@h")
	if status != exitUsage || strings.Contains(errors, "hunter2") {
		t.Errorf("exit status %d, %s", status, errors)
	}
}

// request sends one with headers and returns status and body.
func request(t *testing.T, method, url string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.Host = header, header.Get("Host")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A page in a browser on this machine can reach a server on loopback. It must not be able to use it.
func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	a := startApp(t, func(c *Config) { c.AllowedHosts = []string{"pubsub.example"} })
	topic := "http://" + a.Addr() + "/v1/projects/demo/topics/"
	for i, test := range []struct {
		header http.Header
		status int
	}{
		{http.Header{}, 200},
		{http.Header{"Origin": {"https://evil.example"}}, 403},
		{http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{http.Header{"Host": {"evil.example"}}, 403},
		{http.Header{"Host": {"pubsub.example:8085"}}, 200},
	} {
		status, body := request(t, http.MethodPut, topic+fmt.Sprintf("topic%d", i), test.header)
		if status != test.status {
			t.Errorf("%v: %d %s", test.header, status, body)
		}
	}
}

func TestReadinessTellsOfTheStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a := startApp(t, func(c *Config) { c.RedisURL = redis.URL() })
	url := "http://" + a.Addr() + "/readyz"
	if status, body := request(t, http.MethodGet, url, nil); status != 200 || !strings.Contains(body, "append-only") {
		t.Errorf("%d %s", status, body)
	}
	redis.Kill(t)
	if status, body := request(t, http.MethodGet, url, nil); status != 503 || !strings.Contains(body, "cannot be reached") {
		t.Errorf("without Redis: %d %s", status, body)
	}
	redis.Restart(t)
	eventually(t, func() error {
		if status, body := request(t, http.MethodGet, url, nil); status != 200 {
			return fmt.Errorf("with Redis again: %d %s", status, body)
		}
		return nil
	})
}

func TestReadinessTellsOfTheStop(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	if ready, reasons := a.ready(t.Context()); !ready || !strings.Contains(reasons[0], "nothing survives") {
		t.Error(ready, reasons)
	}
	a.stop()
	if ready, reasons := a.ready(t.Context()); ready || !strings.Contains(reasons[0], "stopping") {
		t.Error(ready, reasons)
	}
}

// Redis and Postrider are often started together, in either order.
func TestStartWaitsForRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.Stop(t)
	opened := make(chan error, 1)
	var log watchedOutput
	config := Config{Listen: "127.0.0.1:0", RedisURL: redis.URL()}
	go func() {
		a, err := newApp(t.Context(), config, newLogger(&log, config))
		if err == nil {
			err = a.close()
		}
		opened <- err
	}()
	eventually(t, func() error {
		if !strings.Contains(log.String(), "waiting for Redis") {
			return errNotYet
		}
		return nil
	})
	redis.Restart(t)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
}

func TestStartFailsWhereWaitingDoesNotHelp(t *testing.T) {
	t.Parallel()
	evicting := redistest.Start(t, redistest.Args("--maxmemory-policy", "allkeys-lru"))
	locked := redistest.Start(t, redistest.Password("secret"), redistest.TCP())
	for name, test := range map[string]struct{ url, says string }{
		"eviction":       {evicting.URL(), "noeviction"},
		"wrong password": {strings.Replace(locked.URL(), "secret", "hunter2", 1), "WRONGPASS"},
	} {
		config := Config{Listen: "127.0.0.1:0", RedisURL: test.url}
		_, err := newApp(t.Context(), config, newLogger(io.Discard, config))
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStartIsGivenUpOnASignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	config := Config{Listen: "127.0.0.1:0", RedisURL: "unix:///does/not/exist"}
	if _, err := newApp(ctx, config, newLogger(io.Discard, config)); err == nil {
		t.Error("started without Redis")
	}
}

func TestTakenPortIsTold(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	status, _, errors := commandLine{T: t}.try("", "serve", "--listen", listener.Addr().String())
	if status != exitFailure || !strings.Contains(errors, "address already in use") {
		t.Errorf("exit status %d, %s", status, errors)
	}
}

// The page tells itself what is wrong with a subscription: what /readyz says of it is not repeated there.
func TestWarningsOfSubscriptionsAreNotRepeatedOnThePage(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("topics", "create", "dead")
	a.refuseForGood(t)
	c.run("topics", "delete", "dead")
	c.run("publish", "orders", "hello")
	eventually(t, func() error {
		if _, reasons := a.ready(t.Context()); !strings.Contains(strings.Join(reasons, "; "), "dead-letter") {
			return fmt.Errorf("ready says %q", reasons)
		}
		return nil
	})
	if ready, reasons := a.health(t.Context()); !ready || strings.Contains(strings.Join(reasons, "; "), "dead-letter") {
		t.Errorf("health says %v %q", ready, reasons)
	}
}
