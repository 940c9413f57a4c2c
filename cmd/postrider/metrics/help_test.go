package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// fixed is a backend with one answer.
type fixed struct {
	overview subscriptions.Overview
	err      error
}

func (f *fixed) Overview(context.Context) (subscriptions.Overview, error) { return f.overview, f.err }

// scrape reads what a server exports.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// has checks that lines are there.
func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, about(text, line))
		}
	}
}

// hasNot checks that something is nowhere.
func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}

// about are the lines of the same metric.
func about(text, line string) string {
	metric, _, _ := strings.Cut(strings.Fields(line)[0], "{")
	var found []string
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, metric) {
			found = append(found, l)
		}
	}
	return strings.Join(found, "")
}

func topicReportOf(id string, change ...func(*subscriptions.TopicReport)) subscriptions.TopicReport {
	r := subscriptions.TopicReport{Topic: subscriptions.Topic{Name: subscriptions.TopicName{Project: "p", ID: id}}}
	for _, c := range change {
		c(&r)
	}
	return r
}

func subscriptionReportOf(id string, change ...func(*subscriptions.SubscriptionReport)) subscriptions.SubscriptionReport {
	r := subscriptions.SubscriptionReport{Subscription: subscriptions.Subscription{
		Name:  subscriptions.SubscriptionName{Project: "p", ID: id},
		Topic: subscriptions.TopicName{Project: "p", ID: "orders"}, AckDeadline: 10 * time.Second, Retention: time.Hour,
	}}
	for _, c := range change {
		c(&r)
	}
	return r
}

var errAway = errors.New("away")
