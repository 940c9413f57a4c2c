package web

import (
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"postrider/subscriptions"
)

// hostile are texts that somebody may publish, or set as a label, to have them run on an operator's screen or break it.
var hostile = []string{
	`<script>window.pwned=1</script>`, `"><img src=x onerror=window.pwned=1>`, `'><svg onload=window.pwned=1>`, `</code></pre><h1>pwned</h1>`,
	`</title><script>window.pwned=1</script>`, `</textarea><script>window.pwned=1</script>`, `javascript:window.pwned=1`, `{{.}} {{template "head"}}`,
	`<!--`, `]]>`, `&lt;script&gt;`, `" onfocus="window.pwned=1" autofocus="`, "' onmouseover='window.pwned=1", "`${window.pwned=1}`",
	`<iframe src=//evil.example></iframe>`, `<base href=//evil.example>`, `<meta http-equiv=refresh content=0;url=//evil.example>`,
	`<link rel=stylesheet href=//evil.example/x.css>`, `<form action=//evil.example><input name=q>`, `<style>*{display:none}</style>`,
	"event: parts\r\ndata: {}\r\n\r\n", "\x00\x01\x02", "\xff\xfe\xfd", "\u202egnp.exe", "\u2066\u2067", "\u0000", "\u2028alert(1)\u2029",
	strings.Repeat("W", 1024), strings.Repeat("\u0301", 500), strings.Repeat("<b>", 300), "𝕏👩\u200d🚀" + strings.Repeat("ﷺ", 80),
	"%00%0d%0aSet-Cookie:a=b", "../../etc/passwd", "\x1b]0;pwned\x07", "{\"a\":\"</script><script>window.pwned=1</script>\"}",
}

// hostileDesk has one of these texts wherever somebody else's text can be.
func hostileDesk(text string) *desk {
	d := newDesk(func(d *desk, r *subscriptions.SubscriptionReport) {
		failed := []subscriptions.Attempt{
			{Number: 1, Time: now, Failure: subscriptions.Failure{Reason: text, Answer: text}}, {Time: now, Failure: subscriptions.Failure{Reason: text}},
		}
		m := subscriptions.Message{ID: letterID, Data: []byte(text), OrderingKey: text, Attributes: map[string]string{text: text, "a": text}}
		r.Owner = text
		s := &r.Subscription
		s.Ordered, s.Labels, s.Filter, s.Routing = true, map[string]string{text: text}, text, &subscriptions.Routing{Attribute: text, Pattern: text}
		s.Push = &subscriptions.PushConfig{Endpoint: text, Token: &subscriptions.OIDCToken{Email: text}}
		s.Terminal.Header, s.ClientCertificate = text, text
		s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicOf("orders"), MaxAttempts: 5}
		r.Breaker, r.Stats.Undelivered, r.Stats.OldestAge = subscriptions.Breaker{Open: true, Since: time.Hour}, 5, time.Hour
		r.Push = subscriptions.PushReport{Server: text, At: now, Errors: []subscriptions.PushError{{Attempt: failed[0]}}}
		d.blocks = []subscriptions.Block{{Head: subscriptions.Delivery{Message: m, Failed: failed}}}
		d.messages = []subscriptions.Peeked{{Delivery: subscriptions.Delivery{Message: m, Failed: failed}}}
		d.letters = []subscriptions.DeadLetter{{
			Peeked: d.messages[0], Topic: topicOf("orders"), Owner: text,
			Origin: subscriptions.Origin{Subscription: subscriptionOf("billing"), Reason: text, Failed: failed},
		}}
	})
	d.operations = []subscriptions.Operation{{
		Name: operationName, Topic: topicOf("orders"), Query: subscriptions.DeadLetterQuery{DeadLetterFilter: subscriptions.DeadLetterFilter{Text: text}},
		Progress: subscriptions.OperationProgress{Failed: 1, Reason: text, Waiting: text},
	}}
	d.overview.Subscriptions = append(d.overview.Subscriptions, testReport("shipping", func(r *subscriptions.SubscriptionReport) {
		r.Blocked = subscriptions.BlockedKeys{Keys: 1, Since: now.Add(-time.Hour), Failed: subscriptions.Attempt{Failure: subscriptions.Failure{Reason: text}}}
	}))
	d.overview.Topics[0].Owner, d.overview.Topics[0].DeadLetters = text, 3
	d.overview.Topics[0].Sources = []subscriptions.SubscriptionName{subscriptionOf("billing")}
	d.overview.Store.Nodes = []subscriptions.NodeReport{{Address: text, Used: 99, Max: 100}}
	return d
}

// everyPage are the addresses of all pages of a desk.
var everyPage = []string{
	"/", billingPath, billingPath + "/messages", billingPath + "/messages?as=hex", ordersPath, ordersPath + "/publish",
	ordersPath + "/dead-letters", ordersPath + "/dead-letters/" + letterID.String(),
	ordersPath + "/dead-letters/" + letterID.String() + "?as=text", "/operations", operationPath(operationName),
}

func TestHostileTextsRunNothing(t *testing.T) {
	structure := map[string][]string{}
	for i, text := range append([]string{"harmless"}, hostile...) {
		s := New(hostileDesk(text), Options{Explain: explained, Warnings: nil})
		for _, path := range everyPage {
			page := read(t, s, path)
			// Whatever the text, the page is made of the same elements, but for what writes out characters that cannot be seen.
			if i == 0 {
				structure[path] = elements(t, page)
			} else if got := elements(t, page); !slices.Equal(got, structure[path]) {
				t.Errorf("%s with %.40q is another page", path, text)
			}
		}
	}
}

func TestHostileAddressesRunNothing(t *testing.T) {
	s := New(hostileDesk("harmless"), Options{Explain: explained})
	for _, text := range hostile {
		q := url.QueryEscape(text)
		for _, path := range []string{
			"/?q=" + q + "&sort=" + q + "&dir=" + q + "&page=" + q + "&done=" + q, "/?" + q + "=" + q,
			billingPath + "/messages?as=" + q + "&page=" + q, ordersPath + "/publish?id=" + q, ordersPath + "/dead-letters?q=" + q,
			ordersPath + "/dead-letters?holder=" + q, ordersPath + "/dead-letters?from=" + q, ordersPath + "/dead-letters/" + url.PathEscape(text),
			"/projects/" + url.PathEscape(text) + "/topics/" + url.PathEscape(text), "/projects/demo/subscriptions/" + url.PathEscape(text),
		} {
			answer := visit(t, s, "", path, "")
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			checkSafe(t, string(body))
			if answer.StatusCode >= 500 || len(answer.Header["Set-Cookie"]) > 0 {
				t.Errorf("%.60q is answered %d %v", path, answer.StatusCode, answer.Header)
			}
		}
		form := url.Values{"data": {text}, "attributes": {text}, "key": {text}, "form": {text}, "what": {text}, "message": {text},
			"q": {text}, "rate": {text}, "id": {text}, "all": {text}, "sure": {text}, "holder": {text}}.Encode()
		for _, path := range []string{
			ordersPath + "/publish", billingPath + "/unblock", ordersPath + "/dead-letters/review", ordersPath + "/dead-letters/redrive",
			ordersPath + "/dead-letters/purge", operationPath(operationName) + "/stop",
		} {
			body, err := io.ReadAll(visit(t, s, "POST", path, form).Body)
			if err != nil {
				t.Fatal(err)
			}
			checkSafe(t, string(body))
		}
	}
}

// variable are elements of which a text may make more or fewer: what writes out hidden characters, and what goes with data of a kind.
var variable = map[string]bool{"hidden-rune": true}

// elements are the names of a page's elements, with their classes.
func elements(t *testing.T, page string) (all []string) {
	t.Helper()
	for n := range parsed(t, page).Descendants() {
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		if n.Type != html.ElementNode || variable[attributes["class"]] {
			continue
		}
		keys := slices.Sorted(maps.Keys(attributes))
		all = append(all, n.Data+" "+strings.Join(keys, " "))
	}
	return all
}
