package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserRequired in the environment makes a machine without a browser fail the tests that need one. CI sets it.
const browserRequired = "BROWSER_REQUIRED"

// browser is a tab of a Chromium that looks at one server. What no page may do, whatever a test is about, fails the test: an error
// on the console, an exception, a request to anywhere else.
type browser struct {
	*testing.T
	ctx    context.Context
	origin string

	mu       sync.Mutex
	problems []string
	ignored  []string // texts of problems that the test is about
}

// browse opens a tab for a server's pages until the test ends.
func browse(t *testing.T, origin string) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv(browserRequired) != "" {
			t.Fatal("chromium is missing")
		}
		t.Skip("chromium is missing: the page is not tested in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, // containers, and root, have none
		chromedp.Flag("no-proxy-server", true))
	b := &browser{T: t, origin: origin}
	allocator, free := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	tab, closeTab := chromedp.NewContext(allocator, chromedp.WithErrorf(t.Logf))
	t.Cleanup(func() {
		closing, cancel := context.WithTimeout(tab, patience)
		defer cancel()
		if err := chromedp.Cancel(closing); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		closeTab()
		free()
	})
	if err := chromedp.Listen(tab, b.observe); err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(tab, 4*patience)
	t.Cleanup(cancel)
	b.ctx = limited
	command(b, network.Enable, network.EnableParams{})
	command(b, log.Enable, cdp.Empty{})
	command(b, runtime.Enable, cdp.Empty{})
	t.Cleanup(b.check)
	return b
}

// observe notes what no page may do.
func (b *browser) observe(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			b.problem("the console says %s", strings.Join(said, " "))
		}
	case *runtime.EventExceptionThrown:
		b.problem("a script failed: %s", exceptionText(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.problem("the browser says: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme+"://"+u.Host != b.origin {
			b.problem("the page asked for %s", e.Request.URL)
		}
	}
}

func exceptionText(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

func (b *browser) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// expect says that a problem with this text in it is what the test is about.
func (b *browser) expect(text string) { b.ignored = append(b.ignored, text) }

func (b *browser) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
problems:
	for _, p := range b.problems {
		for _, i := range b.ignored {
			if strings.Contains(p, i) {
				continue problems
			}
		}
		b.Error(p)
	}
}

// do runs actions.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// command runs a command of the browser's protocol.
func command[P, R any](b *browser, cmd cdp.Command[P, R], params P) R {
	b.Helper()
	answer, err := chromedp.Call(b.ctx, cmd, params)
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

// find is what an action finds.
func find[T any](b *browser, action chromedp.Action[T]) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// open loads an address of the server.
func (b *browser) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.origin + path))
}

// until waits until an expression of JavaScript is true, on this page or one that follows. While one page gives way to another
// there is nothing to ask.
func (b *browser) until(expression string) {
	b.Helper()
	limited, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := chromedp.Run(limited, chromedp.Evaluate[bool](`Boolean(`+expression+`)`))
		if err == nil && is {
			return
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			b.Fatalf("it is not so that %s (%v); the page says %s", expression, err, find(b, chromedp.Text("body")))
		}
	}
}

// eval is what an expression of JavaScript yields.
func eval[T any](b *browser, expression string) T {
	b.Helper()
	return find(b, chromedp.Evaluate[T](expression))
}
