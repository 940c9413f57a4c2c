package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"postrider/subscriptions"
)

// deadDesk has one dead letter in topic orders, which two subscriptions hold.
func deadDesk() *desk {
	d := newDesk(nil)
	d.letters = []subscriptions.DeadLetter{{
		Peeked: subscriptions.Peeked{Delivery: subscriptions.Delivery{Message: subscriptions.Message{
			ID: letterID, Data: []byte(`{"order": 7}`), Attributes: map[string]string{"region": "eu", "a": "b"}, OrderingKey: "c-1",
		}}},
		Topic: topicOf("orders"), Holder: subscriptionOf("orders-dead"),
		Origin: subscriptions.Origin{
			Subscription: subscriptionOf("billing"), Topic: topicOf("sales"), MessageID: subscriptions.NewMessageID(1795959380000, 1, 1),
			PublishTime: now, Attempts: 5, Reason: "the endpoint answered 500", Redriven: 1, FormerAttempts: 4,
			Failed: []subscriptions.Attempt{{Number: 5, Time: now, Failure: subscriptions.Failure{Reason: "the endpoint answered 500", Took: time.Second, Answer: "no such customer"}}},
		},
	}}
	t := &d.overview.Topics[0]
	t.Sources = []subscriptions.SubscriptionName{subscriptionOf("billing"), subscriptionOf("shipping")}
	t.Subscriptions = []subscriptions.SubscriptionName{subscriptionOf("orders-dead"), subscriptionOf("watch")}
	t.DeadLetters, t.Owner = 12, "payments"
	return d
}

const lettersPath = ordersPath + "/dead-letters"

func TestDeadLettersAreListed(t *testing.T) {
	d := deadDesk()
	s := New(d, Options{Explain: explained})
	wants(t, shown(t, read(t, s, lettersPath+"?q=customer&from=projects/demo/subscriptions/billing")),
		"orders holds 12 dead letters, owner payments", "These are those of orders-dead; there are others of watch.", "from any subscription from billing from shipping", "held by orders-dead held by watch",
		letterID.String(), "billing", "5 (and 4 before)", "the endpoint answered 500", `{"order": 7}`)
	wants(t, read(t, s, lettersPath+"?q=customer"), lettersPath+`?holder=projects%2Fdemo%2Fsubscriptions%2Fwatch&amp;q=customer`)
	q := d.asked[0]
	if q.Topic != topicOf("orders") || q.Text != "customer" || q.From != subscriptionOf("billing") || q.Holder != subscriptionOf("orders-dead") {
		t.Errorf("asked for %+v", q)
	}
	read(t, s, lettersPath+"?holder=projects/demo/subscriptions/watch")
	if q := d.asked[2]; q.Holder != subscriptionOf("watch") {
		t.Errorf("asked for %+v", q)
	}
	if answer := visit(t, s, "", lettersPath+"?from=nothing", ""); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a search that cannot be is answered %d", answer.StatusCode)
	}
	d.letters = nil
	wants(t, shown(t, read(t, s, lettersPath)), "There are no dead letters")
	wants(t, shown(t, read(t, s, lettersPath+"?q=x")), "No dead letter matches. Show all")
}

func TestDeadLetterTellsItsStory(t *testing.T) {
	s := New(deadDesk(), Options{Explain: explained})
	path := lettersPath + "/" + letterID.String()
	wants(t, shown(t, read(t, s, path)), letterID.String(), "From billing, given up", "after 5 attempts: the endpoint answered 500",
		"Show data: automatic text JSON hex", `{ "order": 7 }`, "projects/demo/topics/sales", "1795959380000-10001", "5, and 4 before it was redriven once",
		"Ordering key c-1", "Held by projects/demo/subscriptions/orders-dead", "Last attempts", "attempt 5", "after 1s: no such customer", "Attributes", "a b", "region eu")
	wants(t, shown(t, read(t, s, path+"?as=hex")), "00000000 7b 22 6f 72")
	if answer := visit(t, s, "", lettersPath+"/1-1", ""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("an absent dead letter is answered %d", answer.StatusCode)
	}
}

func TestMessagesAreLookedAt(t *testing.T) {
	d := newDesk(func(d *desk, r *subscriptions.SubscriptionReport) {
		r.Stats.Undelivered = 25
		for i := range int64(25) {
			d.messages = append(d.messages, subscriptions.Peeked{
				Delivery: subscriptions.Delivery{Attempt: 2, Message: subscriptions.Message{
					ID: subscriptions.NewMessageID(1795959382492, i+1, 0), Data: []byte("hello"), OrderingKey: "k", Attributes: map[string]string{"a": "b"},
				}},
				State: subscriptions.PeekWaiting, Next: time.Now().Add(time.Hour),
			})
		}
	})
	s := New(d, Options{Explain: explained})
	wants(t, shown(t, read(t, s, billingPath)), "Messages that wait", "Look at all of them", "1795959382492-10000", "waits for its next attempt in 59 min", "hello")
	page := read(t, s, billingPath+"/messages?as=hex")
	wants(t, shown(t, page), "1795959382492-10000 key k", "waits for its next attempt in 59 min; attempt 2", "a b", "68 65 6c 6c 6f", "More")
	wants(t, page, billingPath+"/messages?as=hex&amp;page=rest")
	d.overview.Subscriptions[0].Breaker.Open = true
	for _, path := range []string{billingPath, billingPath + "/messages"} {
		text := shown(t, read(t, s, path))
		wants(t, text, "1795959382492-10000", "waits for the circuit breaker to close")
		if strings.Contains(text, "next attempt") {
			t.Errorf("%s promises an attempt while the breaker is open", path)
		}
	}
	d.messages = nil
	wants(t, shown(t, read(t, s, billingPath+"/messages")), "No message waits.")
}

// On a phone, the cells of a table of cards have no head above them: each says what it is.
func TestCellsOfCardsHaveTheirColumnsName(t *testing.T) {
	s, found := New(hostileDesk("harmless"), Options{Explain: explained}), 0
	for _, path := range everyPage {
		for table := range parsed(t, read(t, s, path)).Descendants() {
			if table.Data != "table" || attributeOf(table, "class") != "cards" {
				continue
			}
			found++
			var heads []string
			for n := range table.Descendants() {
				switch {
				case n.Data == "th" && attributeOf(n, "scope") == "col":
					heads = append(heads, strings.TrimSpace(textOf(n)))
				case n.Data == "tr" && attributeOf(n, "data-key") != "":
					checkLabels(t, path, heads, n)
				}
			}
		}
	}
	if found != 4 {
		t.Errorf("%d tables are cards", found)
	}
}

func checkLabels(t *testing.T, path string, heads []string, row *html.Node) {
	t.Helper()
	i := -1
	for cell := range row.ChildNodes() {
		if cell.Type != html.ElementNode {
			continue
		}
		i++
		unseen := heads[i] == "Selected" || heads[i] == "Actions"
		if cell.Data == "td" && !unseen && attributeOf(cell, "data-label") != heads[i] {
			t.Errorf("%s: a cell of column %q has the label %q", path, heads[i], attributeOf(cell, "data-label"))
		}
	}
}

func attributeOf(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
