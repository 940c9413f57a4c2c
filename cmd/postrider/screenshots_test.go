package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"postrider/subscriptions"
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
	b := browse(t, a.URL())
	b.expect("status of 404") // one of the pages is that of an error
	empty := startApp(t, nil)
	letters, _, err := a.service.DeadLetters(t.Context(), subscriptions.DeadLetterQuery{Topic: topicName("orders-dead")}, subscriptions.Page{Size: 1})
	if err != nil || len(letters) == 0 {
		t.Fatal("there is no dead letter:", err)
	}
	take := func(origin, name, path string) {
		path = strings.Replace(path, "LETTER", letters[0].Message.ID.String(), 1)
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
			take(a.URL(), p.name, p.path)
		}
	}
	if only == "" || only == "empty" {
		take(empty.URL(), "empty", "/")
	}
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
		"analytics --topic clicks", "invoices-archive --topic invoices",
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
		if s := stats(t, a.store, "orders-dead"); s.Undelivered < 8 {
			return fmt.Errorf("%d dead letters", s.Undelivered)
		}
		return nil
	})
}

func topicName(id string) subscriptions.TopicName {
	return subscriptions.TopicName{Project: defaultProject, ID: id}
}
