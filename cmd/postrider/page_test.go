package main

import (
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"postrider/subscriptions"
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

// TestPageRunsNothing shows messages that want to run something to a browser that would.
func TestPageRunsNothing(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	b := browse(t, a.URL())
	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	c.run("topics", "create", "dead", "--label", "owner=evil")
	c.run("subscriptions", "create", "morgue", "--topic", "dead")
	a.refuseForGood(t)
	for _, text := range []string{
		`<script>window.pwned=1</script>`, `"><img src=x onerror="window.pwned=1">`, `</code></pre><svg onload=window.pwned=1>`,
		`<img src=http://127.0.0.1:1/spy>`, `<meta http-equiv=refresh content="0;url=http://127.0.0.1:1/">`, "\u202e\x00\x1b[2J",
	} {
		_, err := a.service.Publish(t.Context(), topicName("orders"), []subscriptions.Message{{
			Data: []byte(text), Attributes: map[string]string{"a" + text: text}, OrderingKey: text,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	var letters []subscriptions.DeadLetter
	eventually(t, func() (err error) {
		letters, _, err = a.service.DeadLetters(t.Context(), subscriptions.DeadLetterQuery{Topic: topicName("dead")}, subscriptions.Page{})
		if err == nil && len(letters) < 6 {
			err = errNotYet
		}
		return err
	})
	pages := []string{
		"/", "/projects/demo/subscriptions/morgue", "/projects/demo/subscriptions/morgue/messages", "/projects/demo/topics/dead/dead-letters",
		"/?q=" + url.QueryEscape(`"><script>window.pwned=1</script>`),
	}
	for _, l := range letters {
		pages = append(pages, "/projects/demo/topics/dead/dead-letters/"+l.Message.ID.String()+"?as=text")
	}
	for _, path := range pages {
		b.open(path)
		if eval[bool](b, `"pwned" in window || location.host !== `+"`"+a.Addr()+"`"+` || document.querySelectorAll("main img[src^=x], main script, main svg[onload]").length > 0`) {
			t.Errorf("%s ran what it shows", path)
		}
	}
}
