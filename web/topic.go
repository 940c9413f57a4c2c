package web

import (
	"net/http"

	"postrider/subscriptions"
)

// topicData is what a topic's page shows.
type topicData struct {
	Name, Project, Path string
	Report              subscriptions.TopicReport
	Settings            []setting
	Table               table
	Names               names
	// Delayed are the first of the messages that are not due yet, and the number of all.
	Delayed subscriptions.DelayedResult
}

// delayedAtOnce bounds the list of delayed messages.
const delayedAtOnce = 10

// topic is a topic's page.
func (s *Site) topic(r *http.Request) (page, error) {
	name := topicIn(r)
	t, err := s.backend.GetTopic(r.Context(), name)
	if err != nil {
		return page{}, err
	}
	o, err := s.backend.Overview(r.Context())
	if err != nil {
		return page{}, err
	}
	d := topicData{Name: name.ID, Project: name.Project, Path: topicPath(name), Names: namesOf(o), Report: topicReportOf(o, t)}
	if d.Delayed, _, err = s.backend.Delayed(r.Context(), name, subscriptions.Page{Size: delayedAtOnce}); err != nil {
		return page{}, err
	}
	var attached []subscriptions.SubscriptionReport
	for _, sub := range o.Subscriptions {
		if sub.Subscription.TopicUID == t.UID && !sub.Subscription.Detached {
			attached = append(attached, sub)
		}
	}
	d.Table = newTable(o, attached, readQuery(r.URL))
	d.Table.Topicless = true
	retention := "only as long as a subscription needs them"
	if t.Retention > 0 {
		retention = period(t.Retention) + ", acknowledged or not"
	}
	d.Settings = []setting{{Name: "Messages are kept", Value: retention}, {Name: "Labels", Value: labels(t.Labels)}}
	return page{title: name.ID, name: "topic", parts: []string{"topic-state", "topic-delayed", "topic-table"}, data: d}, nil
}

func topicIn(r *http.Request) subscriptions.TopicName {
	return subscriptions.TopicName{Project: r.PathValue("project"), ID: r.PathValue("topic")}
}
