package main

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// inBrowser runs a test in a browser, on a server of each kind.
func inBrowser(t *testing.T, test func(*browser, *testApp, commandLine)) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, a *testApp) {
		test(browse(t, a.URL()), a, client(t, a.Addr()))
	})
}

// TestPageFollows looks at the overview while things happen.
func TestPageFollows(t *testing.T) {
	inBrowser(t, func(b *browser, _ *testApp, c commandLine) {
		b.open("/")
		b.until(`document.querySelector(".empty").textContent.includes("There is no subscription yet")`)
		b.until(`document.getElementById("live").textContent === "live"`)
		c.run("topics", "create", "orders")
		c.run("subscriptions", "create", "billing", "--topic", "orders")
		c.run("subscriptions", "create", "shipping", "--topic", "orders")
		b.until(`document.querySelectorAll("tbody tr").length === 2`)

		// What is typed filters, and keeps the focus and the text while the page goes on being updated.
		b.do(chromedp.SendKeys("#q", "bill"))
		b.until(`document.querySelectorAll("tbody tr").length === 1`)
		c.run("publish", "orders", "hello")
		b.until(`document.querySelector("tbody .backlog").textContent === "1"`)
		if got := eval[string](b, `document.activeElement.id + " " + document.activeElement.value + " " + location.search`); got != "q bill ?q=bill" {
			b.Errorf("the focus is on %s", got)
		}
		b.do(chromedp.Click(`thead th.backlog a`))
		b.until(`document.querySelector('thead th.backlog').ariaSort === "descending" && location.search.includes("q=bill")`)
	})
}
