package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"postrider/server/api"
)

// tails are the subscriptions that tails made.
func (c commandLine) tails() (subs []api.Subscription) {
	c.Helper()
	var all []api.Subscription
	decode(c.T, c.run("subscriptions", "list", "-o", "json"), &all)
	for _, sub := range all {
		if strings.Contains(sub.Name, "/subscriptions/tail-") {
			subs = append(subs, sub)
		}
	}
	return subs
}

// startTail runs a tail as a process of its own, and waits until messages that are published now reach it.
func startTail(c commandLine, args ...string) *program {
	c.Helper()
	before := len(c.tails())
	p := startProgram(c.T, c.environ, append([]string{"tail"}, args...)...)
	eventually(c.T, func() error {
		if len(c.tails()) == before {
			return fmt.Errorf("no subscription; %s", p.errors.String())
		}
		return nil
	})
	return p
}

func (p *program) awaitOutput(text string) {
	p.Helper()
	eventually(p.T, func() error {
		if got := p.output.String(); !strings.Contains(got, text) {
			return fmt.Errorf("%q is missing in %q; %s", text, got, p.errors.String())
		}
		return nil
	})
}

func tailServer(t *testing.T) commandLine {
	t.Helper()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders", "--message-filter", "attributes.kind = \"invoice\"")
	return c
}

// A tail shows what comes and takes nothing from anyone. Whatever ends it that can be noticed, nothing is left.
func TestTailOfATopic(t *testing.T) {
	t.Parallel()
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(end.String(), func(t *testing.T) {
			t.Parallel()
			c := tailServer(t)
			tail := startTail(c, "orders")
			c.run("publish", "orders", "one\x1b[31m", "--attribute", "kind=invoice")
			tail.awaitOutput(`one\u001b[31m [kind=invoice] (message `)
			c.run("publish", "orders", "two")
			tail.awaitOutput("two")
			tail.signal(end)
			status := tail.wait()
			if want := 128 + int(end); status != want && end != syscall.SIGHUP {
				t.Errorf("exit status %d: %s", status, tail.errors.String())
			}
			if left := c.tails(); len(left) > 0 {
				t.Errorf("left over: %+v", left)
			}
			if got := c.run("pull", "billing", "--no-wait", "--max", "9"); !strings.Contains(got, "one") {
				t.Errorf("the subscription lost its message:\n%s", got)
			}
		})
	}
}

// A tail of a subscription shows what that one selects.
func TestTailOfASubscription(t *testing.T) {
	t.Parallel()
	c := tailServer(t)
	tail := startTail(c, "billing", "--filter", "attributes:paid", "-o", "json", "--max", "2")
	if sub := c.tails()[0]; sub.Filter != `(attributes.kind = "invoice") AND (attributes:paid)` {
		t.Errorf("filter %s", sub.Filter)
	}
	c.run("publish", "orders", "other")
	c.run("publish", "orders", "unpaid", "--attribute", "kind=invoice")
	c.run("publish", "orders", "paid", "--attribute", "kind=invoice", "--attribute", "paid=yes")
	c.run("publish", "orders", "paid too", "--attribute", "kind=invoice", "--attribute", "paid=yes")
	if status := tail.wait(); status != 0 || tail.errors.String() != "" {
		t.Errorf("exit status %d: %s", status, tail.errors.String())
	}
	var got []string
	for lines := bufio.NewScanner(strings.NewReader(tail.output.String())); lines.Scan(); {
		var r api.ReceivedMessage
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.AckID != "" {
			t.Errorf("%v in %s", err, lines.Text())
		}
		got = append(got, string(r.Message.Data))
	}
	if fmt.Sprint(got) != "[paid paid too]" || len(c.tails()) > 0 {
		t.Errorf("shown %q, left over %v", got, c.tails())
	}
	if got := c.run("pull", "billing", "--no-wait", "--max", "9"); strings.Count(got, "\n") != 4 {
		t.Errorf("the subscription lost messages:\n%s", got)
	}
}

// What a killed tail leaves is as small and goes as soon as can be, and no file takes it along.
func TestKilledTail(t *testing.T) {
	t.Parallel()
	c := tailServer(t)
	tail := startTail(c, "orders")
	tail.signal(syscall.SIGKILL)
	tail.wait()
	left := c.tails()
	if len(left) != 1 || left[0].ExpirationPolicy.TTL.Duration().Hours() != 24 || left[0].MessageRetentionDuration.Duration().Minutes() != 10 {
		t.Errorf("left over: %+v", left)
	}
	if _, labelled := left[0].Labels[tailLabel]; !labelled || strings.Contains(c.run("export"), "tail-") {
		t.Errorf("label of %+v, export\n%s", left[0], c.run("export"))
	}
}

func TestTailThatTakes(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	c.run("publish", "orders", "one", "two", "three")
	status, out, errors := c.try("", "tail", "billing", "--ack", "--max", "2")
	if status != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(errors, "other subscribers do not get") {
		t.Errorf("exit status %d, %s%s", status, out, errors)
	}
	if s := stats(t, a.store, "billing"); s.Acked != 2 || s.Outstanding != 0 {
		t.Errorf("%+v", s)
	}
	if len(c.tails()) > 0 {
		t.Error("there is a subscription of the tail's own")
	}
}

// brokenPipe is an output whose reader leaves after a line.
type brokenPipe struct{ lines int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.lines--; p.lines < 0 {
		return 0, &os.PathError{Op: "write", Path: "pipe", Err: syscall.EPIPE}
	}
	return len(b), nil
}

// Messages that nobody could read are given back, and those that somebody did are acknowledged.
func TestTailIntoAPipeThatBreaks(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	c.run("publish", "orders", "one", "two", "three")
	p := process{out: &brokenPipe{lines: 1}, err: io.Discard, environ: c.environ}
	if status := execute(t.Context(), p, []string{"tail", "billing", "--ack"}); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if s := stats(t, a.store, "billing"); s.Acked != 1 || s.Nacked != 2 {
		t.Errorf("%+v", s)
	}
}

// The pipe of a process: Go would end it at once.
func TestTailEndsWithItsPipe(t *testing.T) {
	t.Parallel()
	c := tailServer(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	tail := startProgramTo(c.T, writer, c.environ, "tail", "orders")
	_ = writer.Close()
	eventually(t, func() error {
		if len(c.tails()) == 0 {
			return errNotYet
		}
		return nil
	})
	_ = reader.Close()
	c.run("publish", "orders", "one")
	if status := tail.wait(); status != 0 || len(c.tails()) > 0 {
		t.Errorf("exit status %d, left over %v: %s", status, c.tails(), tail.errors.String())
	}
}

func TestTailSince(t *testing.T) {
	t.Parallel()
	c := tailServer(t)
	c.run("publish", "orders", "before")
	if status, _, errors := c.try("", "tail", "orders", "--since", "1h", "--max", "1"); status != exitFailure || !strings.Contains(errors, "keeps no messages") {
		t.Errorf("exit status %d, %s", status, errors)
	}
	c.run("topics", "update", "orders", "--message-retention-duration", "1h")
	c.run("publish", "orders", "retained")
	if got := c.run("tail", "orders", "--since", "1h", "--max", "2"); !strings.Contains(got, "before") || !strings.Contains(got, "retained") {
		t.Error(got)
	}
	if len(c.tails()) > 0 {
		t.Error("left over")
	}
}

// A server that is away for a while is waited for.
func TestTailOutlastsItsServer(t *testing.T) {
	t.Parallel()
	c := tailServer(t)
	_, address, _ := strings.Cut(c.environ[0], "=")
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	var refused atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() && strings.HasSuffix(r.URL.Path, ":pull") {
			refused.Add(1)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	away.Store(true)
	through := client(t, s.Listener.Addr().String())
	tail := startTail(through, "orders", "--max", "1")
	eventually(t, func() error {
		if refused.Load() < 2 {
			return errNotYet
		}
		return nil
	})
	c.run("publish", "orders", "meanwhile")
	away.Store(false)
	tail.awaitOutput("meanwhile")
	if status, said := tail.wait(), tail.errors.String(); status != 0 || strings.Count(said, "trying again") != 1 || !strings.Contains(said, "is back") {
		t.Errorf("exit status %d, %s", status, said)
	}
}

func TestTailRefuses(t *testing.T) {
	t.Parallel()
	c := tailServer(t)
	c.run("subscriptions", "create", "pushed", "--topic", "orders", "--push-endpoint", "http://127.0.0.1:1/")
	c.run("subscriptions", "create", "cut", "--topic", "orders")
	c.run("subscriptions", "detach", "cut")
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"absent":                              {1, `neither a topic nor a subscription "absent" in the project demo`},
		"projects/demo/topics/absent":         {1, "NOT_FOUND"},
		"projects/demo/subscriptions/absent":  {1, "NOT_FOUND"},
		"absent --ack":                        {1, "NOT_FOUND"},
		"orders --filter nonsense":            {1, "filter"},
		"pushed --ack":                        {1, "FAILED_PRECONDITION"},
		"cut":                                 {1, "gets no messages any more"},
		"projects/demo/topics/orders --ack":   {2, "projects/PROJECT/subscriptions/ID"},
		"orders --max 0":                      {2, "--max"},
		"billing --ack --filter attributes:a": {2, "ack filter"},
		"x":                                   {2, "3 to 255"},
	} {
		status, out, errors := c.try("", append([]string{"tail"}, strings.Fields(args)...)...)
		if status != want.status || !strings.Contains(errors, want.says) || out != "" || len(c.tails()) > 0 {
			t.Errorf("%s: exit status %d, %s%s, left over %v", args, status, out, errors, c.tails())
		}
	}
}
