package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

func asked(t *testing.T, address string) query {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return readQuery(u)
}

func rowNames(t table) (all []string) {
	for _, r := range t.Rows {
		all = append(all, r.Name)
	}
	return all
}

// various are subscriptions of which each column makes another order.
func various() subscriptions.Overview {
	return survey(nil,
		testReport("aaa", func(r *subscriptions.SubscriptionReport) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Out, r.Drains = 5, time.Hour, 1, 9, time.Second
			r.Owner = "Payments"
		}),
		testReport("bbb", func(r *subscriptions.SubscriptionReport) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Out, r.Drains = 500, 2*time.Minute, 7, 2, -1
			r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://api.example.com/"}
		}),
		testReport("ccc", func(r *subscriptions.SubscriptionReport) {
			r.Stats.Outstanding, r.Stats.OldestAge, r.In, r.Out, r.Drains = 50, time.Second, 3, 4, time.Hour
			r.Subscription.Topic, r.Subscription.Labels = topicOf("alarms"), map[string]string{"team": "night"}
		}),
	)
}

func TestTableSortsByEveryColumn(t *testing.T) {
	o := various()
	for address, want := range map[string]string{
		"/":                         "bbb ccc aaa", // the growing one first, then by backlog
		"/?sort=name":               "aaa bbb ccc",
		"/?sort=name&dir=down":      "ccc bbb aaa",
		"/?sort=topic":              "ccc aaa bbb",
		"/?sort=delivery&dir=down":  "bbb aaa ccc",
		"/?sort=backlog&dir=down":   "bbb ccc aaa",
		"/?sort=oldest&dir=down":    "aaa bbb ccc",
		"/?sort=in&dir=down":        "bbb ccc aaa",
		"/?sort=out&dir=down":       "aaa ccc bbb",
		"/?sort=drains&dir=down":    "bbb ccc aaa",
		"/?sort=state":              "aaa ccc bbb",
		"/?sort=nothing&dir=nobody": "bbb ccc aaa",
	} {
		got := newTable(o, o.Subscriptions, asked(t, address))
		if strings.Join(rowNames(got), " ") != want {
			t.Errorf("%s: %v, not %s", address, rowNames(got), want)
		}
	}
}

func TestTableFindsEachWord(t *testing.T) {
	o := various()
	for text, want := range map[string]string{
		"BB": "bbb", "alarms": "ccc", "payments": "aaa", "team=night": "ccc", "example.com": "bbb", "growing": "bbb",
		"push": "bbb", "pull orders": "aaa", "demo": "bbb ccc aaa", "pull push": "", "  ": "bbb ccc aaa",
	} {
		got := newTable(o, o.Subscriptions, asked(t, "/?q="+url.QueryEscape(text)))
		if strings.Join(rowNames(got), " ") != want {
			t.Errorf("%q: %v, not %s", text, rowNames(got), want)
		}
	}
}

func TestTablePages(t *testing.T) {
	var all []subscriptions.SubscriptionReport
	for i := range 2*rowsPerPage + 50 {
		all = append(all, testReport(fmt.Sprintf("s-%04d", i), nil))
	}
	o := survey(nil, all...)
	for _, c := range []struct {
		address, first, earlier, later string
		rows                           int
	}{
		{"/?sort=name&q=s-", "s-0000", "", "/?page=2&q=s-&sort=name", rowsPerPage},
		{"/?sort=name&page=2", "s-0100", "/?sort=name", "/?page=3&sort=name", rowsPerPage},
		{"/?sort=name&page=3", "s-0200", "/?page=2&sort=name", "", 50},
		{"/?sort=name&page=99999999999999999999", "s-0200", "/?page=2&sort=name", "", 50},
		{"/?sort=name&page=two", "s-0000", "", "/?page=2&sort=name", rowsPerPage},
		{"/?sort=name&page=77", "s-0200", "/?page=2&sort=name", "", 50},
		{"/?sort=name&page=-1", "s-0000", "", "/?page=2&sort=name", rowsPerPage},
	} {
		got := newTable(o, o.Subscriptions, asked(t, c.address))
		if got.Rows[0].Name != c.first || got.Earlier() != c.earlier || got.Later() != c.later || len(got.Rows) != c.rows {
			t.Errorf("%s: %d rows from %s, between %q and %q", c.address, len(got.Rows), got.Rows[0].Name, got.Earlier(), got.Later())
		}
	}
}

func TestTableHeadsTurnTheirOrder(t *testing.T) {
	got := newTable(various(), nil, asked(t, "/?sort=backlog&dir=down&q=x&page=3"))
	heads := map[string]column{}
	for _, c := range got.Columns() {
		heads[c.Name] = c
	}
	if c := heads["backlog"]; c.Sorted != "descending" || c.Address != "/?q=x&sort=backlog" {
		t.Errorf("got %+v", c)
	}
	if c := heads["oldest"]; c.Sorted != "" || c.Address != "/?dir=down&q=x&sort=oldest" {
		t.Errorf("got %+v", c)
	}
	if c := heads["state"]; c.Address != "/?q=x" {
		t.Errorf("got %+v", c)
	}
	got.Topicless = true
	if slices.ContainsFunc(got.Columns(), func(c column) bool { return c.Name == "topic" }) {
		t.Error("the topic is there")
	}
}

func TestTableTellsDeadLetters(t *testing.T) {
	dead := subscriptions.TopicReport{Topic: subscriptions.Topic{Name: topicOf("dead"), UID: "d"}, Sources: []subscriptions.SubscriptionName{subscriptionOf("aaa")}}
	o := survey([]subscriptions.TopicReport{dead}, testReport("morgue", func(r *subscriptions.SubscriptionReport) {
		r.Subscription.Topic, r.Subscription.TopicUID, r.Stats.Undelivered = topicOf("dead"), "d", 1
	}))
	if got := newTable(o, o.Subscriptions, asked(t, "/?q=dead+letters")); len(got.Rows) != 1 || got.Rows[0].Condition != (condition{"dead letters", warning}) {
		t.Errorf("got %+v", got.Rows)
	}
}
