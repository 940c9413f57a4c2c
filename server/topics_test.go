package server_test

import (
	"net/http"
	"testing"
)

func TestTopic(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.do("PUT p/topics/orders", `{"labels": {"team": "a"}, "state": "INGESTION_RESOURCE_ERROR", "satisfiesPzs": true, "tags": {"1/2": "x"}}`).
		is(`{"name": "projects/p/topics/orders", "labels": {"team": "a"}, "state": "ACTIVE"}`)
	s.do("GET p/topics/orders").is(`{"name": "projects/p/topics/orders", "labels": {"team": "a"}, "state": "ACTIVE"}`)
	s.do("PUT p/topics/orders", "{}").fails(http.StatusConflict, "ALREADY_EXISTS", "projects/p/topics/orders")
	s.do("PATCH p/topics/orders", `{"topic": {}, "updateMask": "labels"}`).is(`{"name": "projects/p/topics/orders", "state": "ACTIVE"}`)
	s.do("DELETE p/topics/orders").is(`{}`)
	for _, gone := range []string{"GET p/topics/orders", "DELETE p/topics/orders", "GET p/topics/orders/subscriptions"} {
		s.do(gone).fails(http.StatusNotFound, "NOT_FOUND", "projects/p/topics/orders")
	}
}

func TestTopicsOfAProject(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	s.do("GET p/topics?pageToken=").is(`{}`)
	for _, name := range []string{"a/topics/second", "a/topics/first", "ab/topics/other", "a-b/topics/other", "A/topics/other"} {
		s.do("PUT "+name, "{}").ok()
	}
	s.do("GET a/topics").is(`{"topics": [
		{"name": "projects/a/topics/first", "state": "ACTIVE"},
		{"name": "projects/a/topics/second", "state": "ACTIVE"}]}`)
}

// Case 4: a topic of a deleted topic's name is another topic.
func TestDeletedTopicLeavesItsSubscriptions(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	old := s.publish("old")
	s.do("DELETE " + topicPath).is(`{}`)
	if got := s.do("GET " + subPath).ok()["topic"]; got != "_deleted-topic_" {
		t.Errorf("the subscription's topic reads %v", got)
	}

	s.withTopic()
	s.publish("new")
	if got := s.do("GET " + subPath).ok()["topic"]; got != "_deleted-topic_" {
		t.Errorf("with a new topic of the name, the subscription's topic reads %v", got)
	}
	s.do("GET " + topicPath + "/subscriptions").is(`{}`)
	if got := s.one(subPath); got.Message.MessageID != old[0] {
		t.Errorf("got %+v, want the old backlog", got)
	}
	s.do("PATCH "+subPath, `{"subscription": {"topic": "_deleted-topic_", "ackDeadlineSeconds": 20}, "updateMask": "ackDeadlineSeconds"}`).ok()
	s.subscribe("other", `{"topic": "_deleted-topic_"}`).invalid("topic", "projects/PROJECT/topics/ID")
}

func TestSubscriptionsOfATopic(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	s.do("GET " + topicPath + "/subscriptions").is(`{}`)
	for _, name := range []string{"p/subscriptions/second", "p/subscriptions/first", "other/subscriptions/foreign"} {
		s.do("PUT "+name, `{"topic": "projects/p/topics/orders"}`).ok()
	}
	s.do("GET " + topicPath + "/subscriptions").is(`{"subscriptions": [
		"projects/other/subscriptions/foreign", "projects/p/subscriptions/first", "projects/p/subscriptions/second"]}`)
	s.do("POST p/subscriptions/first:detach").is(`{}`)
	s.do("DELETE p/subscriptions/second").is(`{}`)
	s.do("GET " + topicPath + "/subscriptions").is(`{"subscriptions": ["projects/other/subscriptions/foreign"]}`)
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	ids := numbered("sub%d", 5)
	for _, id := range ids {
		s.subscribe(id, "{}").ok()
		s.do("PUT many/topics/"+id, "{}").ok()
		s.do("PUT many/subscriptions/"+id, `{"topic": "projects/p/topics/orders"}`).ok()
	}
	for list, pages := range map[string]int{
		"many/topics?pageSize=2":                     3,
		"many/subscriptions?pageSize=2":              3,
		"many/subscriptions?pageSize=5":              1,
		"many/subscriptions?pageSize=0":              1,
		topicPath + "/subscriptions?pageSize=3":      4,
		"nobody/subscriptions?pageSize=1":            1,
		"many/topics?pageSize=1&alt=json&key=secret": 5,
	} {
		if got := s.pages(list); got != pages {
			t.Errorf("%s has %d pages, want %d", list, got, pages)
		}
	}
}

// pages reads a list to its end and checks that nothing comes twice.
func (s rest) pages(list string) int {
	s.t.Helper()
	seen := map[any]bool{}
	token := ""
	for n := 1; ; n++ {
		page := s.do("GET " + list + token).ok()
		for _, kind := range []string{"topics", "subscriptions"} {
			entries, _ := page[kind].([]any)
			for _, e := range entries {
				if r, ok := e.(fields); ok {
					e = r["name"]
				}
				if seen[e] {
					s.t.Fatalf("%s: %v comes twice", list, e)
				}
				seen[e] = true
			}
		}
		next, more := page["nextPageToken"]
		if !more {
			return n
		}
		token = "&pageToken=" + next.(string)
	}
}

func TestBadPages(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	for query, words := range map[string]string{
		"pageSize=-1":           "pageSize",
		"pageSize=x":            `pageSize: "x"`,
		"pageSize=":             `pageSize: ""`,
		"pageSize=3000000000":   "pageSize",
		"pageSize=1&pageSize=2": `pageSize: "1,2"`,
		"pageToken=%21":         "pageToken",
		"pageToken=b3JkZXJz":    "pageToken",
	} {
		for _, list := range []string{"p/topics?", "p/subscriptions?", topicPath + "/subscriptions?"} {
			s.do("GET " + list + query).invalid(words)
		}
	}
	s.do("GET p/topics/missing/subscriptions?pageSize=-1").fails(http.StatusNotFound, "NOT_FOUND")
}
