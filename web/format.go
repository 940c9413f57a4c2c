package web

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"postrider/subscriptions"
)

// span says how long something is in one unit, precise enough to compare: 24 s, 12 min, 3 h, 5 d.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + " d"
	}
}

const stamp = "2006-01-02 15:04:05 UTC"

// moment writes a text about a time, which it shows when the pointer rests on it.
func moment(t time.Time, text string) template.HTML {
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.Format(time.RFC3339), t.Format(stamp), text))
}

// age is how old something is that began d before now; a dash for nothing.
func age(now time.Time, d time.Duration) template.HTML {
	if d <= 0 {
		return `<span class="none">–</span>`
	}
	return moment(now.Add(-d), span(d))
}

// ahead is how long until something that comes d after now.
func ahead(now time.Time, d time.Duration) template.HTML { return moment(now.Add(d), span(d)) }

// drains is when a backlog is empty, the oldest of which is so old; a dash while rates say nothing yet.
func drains(now time.Time, d, oldest time.Duration) template.HTML {
	switch {
	case d > 0:
		return ahead(now, d)
	case d < 0 && oldest >= behind:
		return "never"
	default:
		return `<span class="none">–</span>`
	}
}

// ago is how long ago a time was; "in 5 s" when it is to come.
func ago(now, t time.Time) template.HTML {
	if t.After(now.Add(time.Second)) {
		return moment(t, "in "+span(t.Sub(now)))
	}
	return moment(t, span(now.Sub(t))+" ago")
}

// since is how long something has been so that began at a time.
func since(now, t time.Time) template.HTML { return moment(t, span(now.Sub(t))) }

// due is how long until something that comes at a time by itself; when that is less than a second off, or has passed, it may any
// moment.
func due(now, t time.Time) template.HTML {
	if t.Sub(now) < time.Second {
		return "now"
	}
	return moment(t, "in "+span(t.Sub(now)))
}

// exactTime is a time in full.
func exactTime(t time.Time) template.HTML { return moment(t, t.UTC().Format(stamp)) }

// count is a number of things, with its thousands apart.
func count[N int | int64](n N) string { return humanize.Comma(int64(n)) }

// plural is a number with the word for so many things.
func plural[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// waiting says how many messages wait.
func waiting(n int64) string {
	if n == 1 {
		return "1 message waits"
	}
	return count(n) + " messages wait"
}

// size is a number of bytes.
func size[N int | int64](n N) string { return humanize.Bytes(uint64(max(0, n))) }

// rate is a number of things a second; "" when there were none.
func rate(perSecond float64) string {
	switch {
	case math.IsNaN(perSecond) || perSecond < 0.005:
		return ""
	case perSecond < 1:
		return strconv.FormatFloat(perSecond, 'f', 2, 64)
	case perSecond < 10:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	case perSecond < 10_000:
		return humanize.Comma(int64(math.Round(perSecond)))
	case perSecond < 1e6:
		return strconv.FormatFloat(perSecond/1e3, 'f', 1, 64) + "k"
	default:
		return strconv.FormatFloat(perSecond/1e6, 'f', 1, 64) + "M"
	}
}

// topicPath is the address of a topic's page.
func topicPath(n subscriptions.TopicName) string {
	return "/projects/" + url.PathEscape(n.Project) + "/topics/" + url.PathEscape(n.ID)
}

// subscriptionPath is the address of a subscription's page.
func subscriptionPath(n subscriptions.SubscriptionName) string {
	return "/projects/" + url.PathEscape(n.Project) + "/subscriptions/" + url.PathEscape(n.ID)
}

// operationPath is the address of an operation's page.
func operationPath(n subscriptions.OperationName) string {
	return "/projects/" + url.PathEscape(n.Project) + "/operations/" + url.PathEscape(n.ID)
}

// hostOf is the host of an endpoint, for a narrow column.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return endpoint
	}
	return strings.ToLower(u.Host)
}
