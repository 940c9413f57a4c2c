package web

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

// rowsPerPage bounds a table: the rest is on further pages, or behind a filter.
const rowsPerPage = 100

// table is subscriptions as a table: what is asked for, and the rows that answer.
type table struct {
	Query query
	Rows  []row
	// Total is how many match, of All.
	Total, All int
	// Topicless leaves the topic out, where all have the same.
	Topicless bool
	At        time.Time
}

// row is a subscription in a table.
type row struct {
	Name, Topic         string
	Path, TopicPath     string
	Pull                bool
	Host                string // of the endpoint
	Backlog             int64
	AtMost              bool // the backlog may be less
	Recent              []int64
	Oldest              time.Duration
	In, Out             float64
	Drains              time.Duration
	Measured            bool
	Condition           condition
	Owner               string
	project, id, labels string
}

// query is how a table is asked for, in the address.
type query struct {
	path string
	Text string // what names, topics, owners and labels must contain
	Sort string // a column
	Down bool   // the largest first
	Page int    // from 1
}

// readQuery reads the table's part of an address. What it does not know it passes over: an address may be old.
func readQuery(u *url.URL) query {
	v := u.Query()
	q := query{path: u.EscapedPath(), Text: strings.TrimSpace(v.Get("q")), Sort: v.Get("sort"), Down: v.Get("dir") == "down"}
	if _, ok := orders[q.Sort]; !ok {
		q.Sort, q.Down = "state", true
	}
	q.Page, _ = strconv.Atoi(v.Get("page"))
	q.Page = max(1, q.Page)
	return q
}

// address is the table asked for in another way.
func (q query) address() string {
	v := url.Values{}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if q.Sort != "state" || !q.Down {
		v.Set("sort", q.Sort)
		if q.Down {
			v.Set("dir", "down")
		}
	}
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if len(v) == 0 {
		return q.path
	}
	return q.path + "?" + v.Encode()
}

// column is the head of a column: a link that sorts by it.
type column struct {
	Name, Title, Address string
	Numeric              bool
	// Sorted is "ascending" or "descending" if the table is sorted by it, as ARIA has it.
	Sorted string
}

// Columns are the heads of the table.
func (t table) Columns() []column {
	all := []column{
		{Name: "name", Title: "Subscription"}, {Name: "topic", Title: "Topic"}, {Name: "delivery", Title: "Delivery"},
		{Name: "backlog", Title: "Backlog", Numeric: true}, {Name: "oldest", Title: "Oldest", Numeric: true},
		{Name: "in", Title: "In/s", Numeric: true}, {Name: "out", Title: "Out/s", Numeric: true},
		{Name: "drains", Title: "Drains in", Numeric: true}, {Name: "state", Title: "State"},
	}
	if t.Topicless {
		all = slices.Delete(all, 1, 2)
	}
	for i := range all {
		c, q := &all[i], t.Query
		q.Page = 1
		if q.Sort == c.Name {
			c.Sorted = "ascending"
			if q.Down {
				c.Sorted = "descending"
			}
			q.Down = !q.Down
		} else {
			q.Sort, q.Down = c.Name, c.Numeric || c.Name == "state" // the largest is what matters
		}
		c.Address = q.address()
	}
	return all
}

// Earlier and Later are the addresses of the pages beside this one; empty without.
func (t table) Earlier() string { return t.beside(t.Query.Page - 1) }

// Later is as Earlier.
func (t table) Later() string { return t.beside(t.Query.Page + 1) }

func (t table) beside(page int) string {
	if page < 1 || (page-1)*rowsPerPage >= t.Total {
		return ""
	}
	q := t.Query
	q.Page = page
	return q.address()
}

// First and Last are the numbers of the rows shown, from 1.
func (t table) First() int { return min(t.Total, (t.Query.Page-1)*rowsPerPage+1) }

// Last is as First.
func (t table) Last() int { return min(t.Total, t.Query.Page*rowsPerPage) }

// newTable selects, sorts and cuts reports into a table.
func newTable(o subscriptions.Overview, reports []subscriptions.SubscriptionReport, q query) table {
	t := table{Query: q, All: len(reports), At: o.At}
	n, dead := namesOf(o), deadLetterTopics(o)
	for _, r := range reports {
		row := newRow(n, o.At, r)
		if row.Backlog > 0 && dead[r.Subscription.TopicUID] && !r.Breaker.Open {
			row.Condition = condition{"dead letters", warning}
		}
		if row.matches(q.Text) {
			t.Rows = append(t.Rows, row)
		}
	}
	t.Total = len(t.Rows)
	t.Query.Page = min(q.Page, max(1, (t.Total+rowsPerPage-1)/rowsPerPage))
	slices.SortStableFunc(t.Rows, func(a, b row) int { // stable: equal ones stay in order of name
		if q.Down {
			a, b = b, a
		}
		return orders[q.Sort](a, b)
	})
	if t.Total > 0 {
		t.Rows = t.Rows[t.First()-1 : t.Last()]
	}
	return t
}

// deadLetterTopics are the UIDs of the topics that dead letters go to.
func deadLetterTopics(o subscriptions.Overview) map[string]bool {
	all := map[string]bool{}
	for _, t := range o.Topics {
		if len(t.Sources) > 0 {
			all[t.Topic.UID] = true
		}
	}
	return all
}

// orders are the ways to sort, from low to high.
var orders = map[string]func(a, b row) int{
	"name":     func(a, b row) int { return cmp.Compare(a.Name, b.Name) },
	"topic":    func(a, b row) int { return cmp.Compare(a.Topic, b.Topic) },
	"delivery": func(a, b row) int { return cmp.Compare(a.Host, b.Host) },
	"backlog":  func(a, b row) int { return cmp.Compare(a.Backlog, b.Backlog) },
	"oldest":   func(a, b row) int { return cmp.Compare(a.Oldest, b.Oldest) },
	"in":       func(a, b row) int { return cmp.Compare(a.In, b.In) },
	"out":      func(a, b row) int { return cmp.Compare(a.Out, b.Out) },
	"drains":   func(a, b row) int { return cmp.Compare(uint64(a.Drains), uint64(b.Drains)) }, // never (-1) is the longest
	"state": func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Condition.Severity, b.Condition.Severity), cmp.Compare(a.Backlog, b.Backlog))
	},
}

func newRow(n names, at time.Time, r subscriptions.SubscriptionReport) row {
	sub := r.Subscription
	to := row{
		Name: n.Of(sub.Name.Project, sub.Name.ID), Path: subscriptionPath(sub.Name),
		Pull: !sub.IsPush(), Backlog: r.Stats.Backlog(), AtMost: r.Stats.UpperBound, Recent: r.Recent, Oldest: r.Stats.OldestAge,
		In: r.In, Out: r.Out, Drains: r.Drains, Measured: !r.Measured.IsZero(), Condition: conditionOf(at, r), Owner: r.Owner,
		project: sub.Name.Project, id: sub.Name.ID,
	}
	if sub.TopicDeleted {
		to.Topic = subscriptions.DeletedTopic
	} else {
		to.Topic, to.TopicPath = n.Of(sub.Topic.Project, sub.Topic.ID), topicPath(sub.Topic)
	}
	if sub.IsPush() {
		to.Host = hostOf(sub.Push.Endpoint)
	}
	for k, v := range sub.Labels {
		to.labels += " " + k + "=" + v
	}
	return to
}

// matches tells whether a row has each word of a text somewhere.
func (r row) matches(text string) bool {
	if text == "" {
		return true
	}
	all := strings.ToLower(strings.Join([]string{r.Name, r.Topic, r.Host, r.Owner, r.Condition.Word, r.project, r.labels}, " "))
	if r.Pull {
		all += " pull"
	} else {
		all += " push"
	}
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}
