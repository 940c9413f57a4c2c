package web

import (
	"net/http"

	"postrider/subscriptions"
)

// overviewData is what the first page shows.
type overviewData struct {
	Attention []notice
	More      int // notices that are not shown
	Table     table
	// Topics are some of those without a subscription, and MoreTopics how many more there are.
	Topics     []subscriptions.TopicReport
	MoreTopics int
	Totals     totals
	Names      names
}

// totals are what all subscriptions have together.
type totals struct {
	Topics, Subscriptions, Servers int
	Backlog, DeadLetters           int64
	In, Out                        float64
}

// maxNotices bounds the strip: who has more to look at begins at the top anyway.
const maxNotices = 12

// maxTopics bounds the list of topics without a subscription.
const maxTopics = 100

// overview is the first page: is anything wrong, since when, whose is it.
func (s *Site) overview(r *http.Request) (page, error) {
	o, err := s.backend.Overview(r.Context())
	if err != nil {
		return page{}, err
	}
	expiring, err := s.backend.Expiring(r.Context())
	if err != nil {
		return page{}, err
	}
	ready, warnings, err := s.health.get(r.Context())
	if err != nil {
		return page{}, err
	}
	d := overviewData{
		Attention: attention(o, serverNotices(o.At, ready, warnings), expiring),
		Table:     newTable(o, o.Subscriptions, readQuery(r.URL)),
		Totals:    totalsOf(o),
		Names:     namesOf(o),
	}
	if len(d.Attention) > maxNotices {
		d.Attention, d.More = d.Attention[:maxNotices], len(d.Attention)-maxNotices
	}
	for _, t := range o.Topics {
		if len(t.Subscriptions) == 0 {
			d.Topics = append(d.Topics, t)
		}
	}
	if len(d.Topics) > maxTopics {
		d.Topics, d.MoreTopics = d.Topics[:maxTopics], len(d.Topics)-maxTopics
	}
	return page{
		title: "Overview", section: "overview", name: "overview",
		parts: []string{"overview-attention", "overview-totals", "overview-bar", "overview-table", "overview-topics"}, data: d,
	}, nil
}

func totalsOf(o subscriptions.Overview) totals {
	t := totals{Topics: len(o.Topics), Subscriptions: len(o.Subscriptions), Servers: len(o.Servers)}
	for _, r := range o.Subscriptions {
		t.Backlog += r.Stats.Backlog()
		t.In += r.In
		t.Out += r.Out
	}
	for _, topic := range o.Topics {
		t.DeadLetters += topic.DeadLetters
	}
	return t
}
