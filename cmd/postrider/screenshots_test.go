package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"postrider/server"
	"postrider/subscriptions"
	"postrider/web"
)

// screenshots in the environment names the folder that TestScreenshots writes to: make screenshots sets it.
const screenshots = "POSTRIDER_SCREENSHOTS"

// TestScreenshots takes a picture of every page, for people to look at: wide and narrow, light and dark.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv(screenshots)
	if folder == "" {
		t.Skip("make screenshots runs this")
	}
	a := startApp(t, nil)
	fillShowcase(t, a)
	shown := httptest.NewServer(web.New(aged{a.service}, web.Options{Explain: server.Explain, Warnings: a.health}).Beside(http.NotFoundHandler()))
	t.Cleanup(shown.Close)
	b := browse(t, shown.URL)
	b.expect("status of 404") // one of the pages is that of an error
	empty := startApp(t, nil)
	letters, _, err := a.service.DeadLetters(t.Context(), subscriptions.DeadLetterQuery{Topic: topicName("orders-dead")}, subscriptions.Page{})
	if err != nil || len(letters) == 0 {
		t.Fatal("there is no dead letter:", err)
	}
	op, err := a.service.Redrive(t.Context(), subscriptions.DeadLetterWork{
		DeadLetterQuery: subscriptions.DeadLetterQuery{Topic: topicName("orders-dead")}, PerSecond: 0.05,
	})
	if err != nil {
		t.Fatal(err)
	}
	take := func(origin, name, path string) {
		path = strings.Replace(path, "OPERATION", op.Name.ID, 1)
		path = strings.Replace(path, "LETTER", letters[len(letters)-1].Message.ID.String(), 1)
		for _, look := range []struct {
			name  string
			width int64
			dark  bool
		}{{"wide-light", 1360, false}, {"wide-dark", 1360, true}, {"phone-light", 390, false}, {"phone-dark", 390, true}} {
			scheme := "light"
			if look.dark {
				scheme = "dark"
			}
			b.origin = origin
			command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
				Width: look.width, Height: 900, DeviceScaleFactor: 1, Mobile: look.width < 500})
			command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			b.open(path)
			if name == "review" {
				b.do(chromedp.Click(`button[value=purge-all]`))
				b.until(`document.querySelector("h1").textContent.startsWith("Purge ")`)
			}
			b.until(`[...document.images].every((i) => i.complete)`)
			picture := find(b, chromedp.FullScreenshot(100))
			if err := os.WriteFile(filepath.Join(folder, name+"-"+look.name+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	only := os.Getenv(screenshots + "_ONLY")
	for _, p := range showcasePages {
		if only == "" || strings.Contains(p.name, only) {
			take(shown.URL, p.name, p.path)
		}
	}
	if only == "" || only == "empty" {
		take(empty.URL(), "empty", "/")
	}
}

// aged is a service as if it had run for hours: nobody waits that long for pictures.
type aged struct{ *subscriptions.Service }

// wave goes up and down within an hour, differently for every name.
func wave(name string, minute int) float64 {
	seed := float64(len(name)*7 + int(name[0]) + int(name[len(name)-1]))
	return 1 + math.Sin(seed+float64(minute)/9)*0.6 + math.Sin(seed*3+float64(minute)/2.3)*0.15
}

func (a aged) History(ctx context.Context, name subscriptions.SubscriptionName) ([]subscriptions.Point, error) {
	points, err := a.Service.History(ctx, name)
	if err != nil || len(points) == 0 {
		return points, err
	}
	last := points[len(points)-1]
	points = nil
	for i := range 61 {
		p, up := last, wave(name.ID, i)
		p.At = last.At.Add(time.Duration(i-60) * time.Minute)
		p.Undelivered, p.Outstanding = int64(float64(last.Undelivered+20)*up), int64(float64(last.Outstanding)*up)
		p.OldestAge, p.In, p.Out = time.Duration(float64(14*time.Minute)*up), 120*up, 100*wave(name.ID, i+7)
		points = append(points, p)
	}
	return points, nil
}

func (a aged) Overview(ctx context.Context) (subscriptions.Overview, error) {
	o, err := a.Service.Overview(ctx)
	o.Subscriptions = slices.Clone(o.Subscriptions) // what the service returned is shared
	for i := range o.Subscriptions {
		r := &o.Subscriptions[i]
		name := r.Subscription.Name.ID
		r.Recent = nil
		for m := range 60 {
			r.Recent = append(r.Recent, int64(float64(r.Stats.Backlog()+3)*wave(name, m)))
		}
		switch name {
		case "analytics":
			r.Stats.OldestAge, r.In, r.Out, r.Drains = 14*time.Minute, 2_430, 1_210, -1
		case "warehouse":
			r.Stats.OldestAge, r.In, r.Breaker.Since = 13*time.Minute, 12.4, 12*time.Minute
		case "ledger":
			r.Blocked.Since = o.At.Add(-6 * time.Minute)
		case "crm-sync":
			r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Drains = 31, 5*time.Minute, 0.1, -1
			r.Push = subscriptions.PushReport{
				Server: r.Server, At: o.At, RetryAfter: o.At.Add(25 * time.Minute),
				Errors: []subscriptions.PushError{{Attempt: subscriptions.Attempt{Failure: subscriptions.Failure{Status: http.StatusTooManyRequests}}}},
			}
		case "orders-dead":
			r.Stats.OldestAge = 3 * time.Hour
		case "invoices-archive":
			r.Stats.OldestAge, r.In, r.Out, r.Drains = 4*time.Minute, 3.1, 8.2, 4*time.Minute
		case "billing", "shipping":
			r.In, r.Out = 12.4, 12.4
		}
	}
	return o, err
}

var showcasePages = []struct{ name, path string }{
	{"overview", "/"},
	{"filtered", "/?q=nothing+like+this"},
	{"topic", "/projects/demo/topics/orders"},
	{"dead-letter-topic", "/projects/demo/topics/orders-dead"},
	{"lonely-topic", "/projects/demo/topics/audit"},
	{"push", "/projects/demo/subscriptions/warehouse"},
	{"pull", "/projects/demo/subscriptions/analytics"},
	{"blocked", "/projects/demo/subscriptions/ledger"},
	{"messages", "/projects/demo/subscriptions/warehouse/messages"},
	{"dead-letters", "/projects/demo/topics/orders-dead/dead-letters"},
	{"dead-letter", "/projects/demo/topics/orders-dead/dead-letters/LETTER"},
	{"review", "/projects/demo/topics/orders-dead/dead-letters"},
	{"operations", "/operations"},
	{"operation", "/projects/demo/operations/OPERATION"},
	{"publish", "/projects/demo/topics/orders/publish"},
	{"missing", "/projects/demo/topics/absent"},
}

// fillShowcase makes a server with something of everything to see.
func fillShowcase(t *testing.T, a *testApp) {
	t.Helper()
	good := newEndpoint(t, always(http.StatusNoContent))
	down := newEndpoint(t, always(http.StatusServiceUnavailable))
	picky := newEndpoint(t, func(p push) int {
		if strings.Contains(string(p.Message.Data), `"total": -`) {
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	})
	c := client(t, a.Addr())
	for id, owner := range map[string]string{"orders": "shop", "orders-dead": "payments", "clicks": "insights", "invoices": "", "audit": ""} {
		labels := map[string]string{}
		if owner != "" {
			labels["owner"] = owner
		}
		_, err := a.service.CreateTopic(t.Context(), subscriptions.Topic{Name: topicName(id), Labels: labels})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := a.service.CreateSubscription(t.Context(), subscriptions.Subscription{
		Name: subscriptions.SubscriptionName{Project: defaultProject, ID: "billing"}, Topic: topicName("orders"),
		Push:       &subscriptions.PushConfig{Endpoint: picky.url},
		DeadLetter: &subscriptions.DeadLetterPolicy{Topic: topicName("orders-dead"), MaxAttempts: 5},
		Terminal:   subscriptions.TerminalAnswers{Statuses: []int{http.StatusUnprocessableEntity}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"orders-dead --topic orders-dead",
		"shipping --topic orders --enable-message-ordering --push-endpoint " + good.url,
		"warehouse --topic orders --push-endpoint " + down.url,
		"ledger --topic orders --enable-message-ordering --dead-letter-topic orders-dead --min-retry-delay 60s --push-endpoint " + picky.url,
		"analytics --topic clicks --label team=insights", "invoices-archive --topic invoices",
		"invoices-eu --topic invoices --message-filter attributes.region=\"eu\"",
		"crm-sync --topic invoices --push-endpoint " + good.url,
	} {
		c.run(append([]string{"subscriptions", "create"}, strings.Fields(line)...)...)
	}
	fill := func(topic string, n, batch int, make func(i int) subscriptions.Message) {
		for first := 0; first < n; first += batch {
			var messages []subscriptions.Message
			for i := first; i < min(n, first+batch); i++ {
				messages = append(messages, make(i))
			}
			if _, err := a.service.Publish(t.Context(), topicName(topic), messages); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill("orders", 60, 1, func(i int) subscriptions.Message {
		total := rand.IntN(40_000)
		if i%7 == 3 {
			total = -total
		}
		return subscriptions.Message{
			Data:       fmt.Appendf(nil, `{"order": %d, "customer": "c-%04d", "total": %d, "currency": "EUR", "lines": [{"sku": "A-17", "count": 2}]}`, 81_000+i, rand.IntN(9999), total),
			Attributes: map[string]string{"origin": "web", "region": "eu"}, OrderingKey: fmt.Sprintf("customer-%d", i%5),
		}
	})
	fill("clicks", 52_000, 500, func(i int) subscriptions.Message { return subscriptions.Message{Data: fmt.Appendf(nil, "click %d", i)} })
	fill("invoices", 1_200, 500, func(i int) subscriptions.Message {
		return subscriptions.Message{Data: []byte("invoice"), Attributes: map[string]string{"region": []string{"eu", "us"}[i%2]}}
	})
	eventually(t, func() error {
		o, err := a.service.Overview(t.Context())
		if err != nil {
			return err
		}
		for _, r := range o.Topics {
			if r.Topic.Name.ID == "orders-dead" && r.DeadLetters < 8 {
				return fmt.Errorf("%d dead letters", r.DeadLetters)
			}
		}
		for _, r := range o.Subscriptions {
			if r.Measured.IsZero() || r.Subscription.Name.ID == "warehouse" && !r.Breaker.Open {
				return fmt.Errorf("%s is not as it will be", r.Subscription.Name)
			}
		}
		return nil
	})
}

func topicName(id string) subscriptions.TopicName {
	return subscriptions.TopicName{Project: defaultProject, ID: id}
}
