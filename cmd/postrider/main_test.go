package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// asProgram in the environment makes the test binary the program itself, so that tests can start it as a process of its own,
// under the race detector.
const asProgram = "RUN_AS_POSTRIDER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		go endWithParent()
		os.Exit(run())
	}
	goleak.VerifyTestMain(redistest.Wrap(closingIdle{m}))
}

// endWithParent ends this process when the test that started it is gone, however that ended: its standard input is closed then.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(exitFailure)
}

// closingIdle closes the connections that clients keep for the next request, which goleak would count.
type closingIdle struct{ redistest.Main }

func (c closingIdle) Run() int {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return c.Main.Run()
}

// patience bounds every wait for what should happen soon.
const patience = 30 * time.Second

// testApp is a server in this process.
type testApp struct {
	*app
	stop func() // drains; may be called again
}

// startApp runs a server on a free port until the test ends.
func startApp(t *testing.T, change func(*Config)) *testApp {
	t.Helper()
	return startLoggedApp(t, io.Discard, change)
}

// startLoggedApp is startApp with a log that is kept.
func startLoggedApp(t *testing.T, log io.Writer, change func(*Config)) *testApp {
	t.Helper()
	config := Config{Listen: "127.0.0.1:0", DrainTimeout: patience}
	if change != nil {
		change(&config)
	}
	a, err := newApp(t.Context(), config, newLogger(log, config))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Run(ctx); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	}()
	stop := func() { cancel(); <-done }
	t.Cleanup(stop)
	return &testApp{a, stop}
}

// onEveryStore runs a test on a server of each kind.
func onEveryStore(t *testing.T, test func(*testing.T, *testApp)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, startApp(t, nil))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		redis := redistest.Start(t)
		test(t, startApp(t, func(c *Config) { c.RedisURL = redis.URL() }))
	})
}

// stats are the counters of a subscription of project demo.
func stats(t *testing.T, s subscriptions.Store, id string) subscriptions.Stats {
	t.Helper()
	sub, err := s.Subscription(t.Context(), subscriptions.SubscriptionName{Project: defaultProject, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Stats(t.Context(), sub.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// commandLine runs client commands against a server.
type commandLine struct {
	*testing.T
	environ []string
}

func client(t *testing.T, addr string) commandLine {
	return commandLine{t, []string{"POSTRIDER_SERVER=http://" + addr}}
}

// run runs a command that must succeed, and returns what it printed.
func (c commandLine) run(args ...string) string {
	c.Helper()
	status, out, errors := c.try("", args...)
	if status != 0 {
		c.Fatalf("postrider %s: exit status %d, %s", strings.Join(args, " "), status, errors)
	}
	return out
}

// try runs a command with some standard input.
func (c commandLine) try(in string, args ...string) (status int, out, errors string) {
	var stdout, stderr bytes.Buffer
	p := process{in: strings.NewReader(in), out: &stdout, err: &stderr, environ: c.environ}
	status = execute(c.Context(), p, args)
	return status, stdout.String(), stderr.String()
}

// endpoint is a push endpoint that tells the test what it got.
type endpoint struct {
	*testing.T
	url    string
	pushes chan push
}

// newEndpoint answers each push as told.
func newEndpoint(t *testing.T, answer func(push) int) *endpoint {
	t.Helper()
	e := &endpoint{T: t, pushes: make(chan push, 10_000)}
	s := httptest.NewServer(receiver(func(p push) int {
		e.pushes <- p
		return answer(p)
	}))
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

func always(status int) func(push) int { return func(push) int { return status } }

// refuseForGood subscribes billing to orders, with an endpoint at whose first answer a message is dead.
func (a *testApp) refuseForGood(t *testing.T) {
	t.Helper()
	refusing := newEndpoint(t, always(http.StatusUnprocessableEntity))
	_, err := a.service.CreateSubscription(t.Context(), subscriptions.Subscription{
		Name: subscriptions.SubscriptionName{Project: defaultProject, ID: "billing"}, Topic: topicName("orders"),
		Push: &subscriptions.PushConfig{Endpoint: refusing.url}, DeadLetter: &subscriptions.DeadLetterPolicy{Topic: topicName("dead"), MaxAttempts: 5},
		Terminal: subscriptions.TerminalAnswers{Statuses: []int{http.StatusUnprocessableEntity}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// next is the next push, with its data as text.
func (e *endpoint) next() (data string, p push) {
	e.Helper()
	select {
	case p := <-e.pushes:
		return string(p.Message.Data), p
	case <-time.After(patience):
		e.Fatal("nothing was pushed")
		return "", push{}
	}
}

// eventually asks until there is no error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("gave up: %v", err)
		}
	}
}

var errNotYet = errors.New("not yet")
