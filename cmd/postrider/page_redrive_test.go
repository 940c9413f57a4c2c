package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"postrider/subscriptions"
)

// shop are three push subscriptions of one topic, of which the second refuses poison until it is mended.
type shop struct {
	*testApp
	commandLine
	first, second, third *endpoint
	mended               atomic.Bool
}

func newShop(a *testApp, c commandLine) *shop {
	s := &shop{testApp: a, commandLine: c}
	ok := always(http.StatusNoContent)
	s.first, s.third = newEndpoint(c.T, ok), newEndpoint(c.T, ok)
	s.second = newEndpoint(c.T, func(p push) int {
		if strings.HasPrefix(string(p.Message.Data), "poison") && !s.mended.Load() {
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	})
	c.run("topics", "create", "orders")
	c.run("topics", "create", "orders-dead", "--label", "owner=payments")
	c.run("subscriptions", "create", "morgue", "--topic", "orders-dead")
	for name, e := range map[string]*endpoint{"first": s.first, "second": s.second, "third": s.third} {
		_, err := a.service.CreateSubscription(c.Context(), subscriptions.Subscription{
			Name: subscriptions.SubscriptionName{Project: defaultProject, ID: name}, Topic: topicName("orders"),
			Push:       &subscriptions.PushConfig{Endpoint: e.url},
			DeadLetter: &subscriptions.DeadLetterPolicy{Topic: topicName("orders-dead"), MaxAttempts: 5},
			Terminal:   subscriptions.TerminalAnswers{Statuses: []int{http.StatusUnprocessableEntity}},
		})
		if err != nil {
			c.Fatal(err)
		}
	}
	return s
}

// TestPageRedrives is what an operator does in the morning: sees that something died, finds it, mends the cause, sends it back.
func TestPageRedrives(t *testing.T) {
	inBrowser(t, func(b *browser, a *testApp, c commandLine) {
		s := newShop(a, c)
		b.open("/")
		for _, text := range []string{"fine", "poison"} {
			c.run("publish", "orders", text)
			for _, e := range []*endpoint{s.first, s.second, s.third} {
				if data, _ := e.next(); data != text {
					t.Fatalf("%s was pushed, not %s", data, text)
				}
			}
		}
		// The page is open all the while, and says so by itself.
		b.until(`document.querySelector(".attention")?.textContent.includes("orders-dead holds 1 dead letter, owner payments")`)
		b.do(chromedp.Click(`.attention a[href$="/topics/orders-dead/dead-letters"]`))
		b.until(`document.querySelector("h1")?.textContent === "Dead letters"`)
		b.do(chromedp.SendKeys("#q", "poison\r"))
		b.until(`location.search.includes("q=poison") && document.querySelectorAll("tbody tr").length === 1`)
		b.do(chromedp.Click(`tbody input[type=checkbox]`), chromedp.Click(`button[value=redrive]`))
		b.until(`document.querySelector("h1")?.textContent === "Redrive 1 dead letter?"`)
		s.mended.Store(true)
		b.do(chromedp.Click(`form.box button[type=submit]`))
		b.until(`document.querySelector(".lead")?.textContent.includes("Done: 1 of 1 redriven.")`)

		data, p := s.second.next()
		if data != "poison" || p.DeliveryAttempt != 1 {
			t.Errorf("the second got %s, attempt %d", data, p.DeliveryAttempt)
		}
		c.run("publish", "orders", "after")
		for _, e := range []*endpoint{s.first, s.second, s.third} {
			if data, _ := e.next(); data != "after" {
				t.Errorf("%s was pushed between", data)
			}
		}
		b.open("/projects/demo/topics/orders-dead/dead-letters")
		b.until(`document.querySelector(".empty")?.textContent.includes("There are no dead letters")`)
	})
}

// TestPageStopsAnOperation sees one go on, and stops it.
func TestPageStopsAnOperation(t *testing.T) {
	inBrowser(t, func(b *browser, a *testApp, c commandLine) {
		s := newShop(a, c)
		const n = 60
		for i := range n {
			c.run("publish", "orders", fmt.Sprintf("poison %d", i))
		}
		var letters []subscriptions.DeadLetter
		eventually(t, func() (err error) {
			letters, _, err = a.service.DeadLetters(t.Context(), subscriptions.DeadLetterQuery{Topic: topicName("orders-dead")}, subscriptions.Page{})
			if err == nil && len(letters) < n {
				err = errNotYet
			}
			return err
		})
		s.mended.Store(true)
		b.open("/projects/demo/topics/orders-dead/dead-letters")
		b.do(chromedp.Click(`button[value=redrive-all]`))
		b.until(`document.querySelector("h1")?.textContent === "Redrive 60 dead letters?"`)
		b.do(chromedp.SendKeys("#rate", "2"), chromedp.Click(`form.box button[type=submit]`))
		b.until(`document.querySelector("progress")?.value >= 2 && document.querySelector(".lead").textContent.includes("of 60 redriven so far")`)
		b.do(chromedp.Click(`form[action$="/stop"] button`))
		b.until(`document.querySelector(".lead")?.textContent.startsWith("Stopped: ")`)
		b.open("/operations")
		b.until(`document.querySelector("tbody tr")?.textContent.includes("stopped")`)
		left, _, err := a.service.DeadLetters(t.Context(), subscriptions.DeadLetterQuery{Topic: topicName("orders-dead")}, subscriptions.Page{})
		if err != nil || len(left) == 0 || len(left) > n-2 {
			t.Errorf("%d dead letters are left: %v", len(left), err)
		}
	})
}
