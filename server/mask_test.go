package server_test

import (
	"fmt"
	"testing"
)

func TestMasks(t *testing.T) {
	t.Parallel()
	change := `{"subscription": {"ackDeadlineSeconds": 30, "labels": {"a": "b"}, "messageRetentionDuration": "900s"}%s}`
	for name, c := range map[string]struct{ query, inBody, want string }{
		"body":                   {"", `, "updateMask": "ackDeadlineSeconds"`, "30 nil 604800s"},
		"query":                  {"?updateMask=ackDeadlineSeconds", "", "30 nil 604800s"},
		"query, escaped comma":   {"?updateMask=labels%2CackDeadlineSeconds", "", "30 b 604800s"},
		"snake case":             {"", `, "updateMask": "ack_deadline_seconds,message_retention_duration"`, "30 nil 900s"},
		"snake case in query":    {"?updateMask=ack_deadline_seconds", "", "30 nil 604800s"},
		"snake case of the key":  {"", `, "update_mask": "labels"`, "10 b 604800s"},
		"the body's comes first": {"?updateMask=labels", `, "updateMask": "ackDeadlineSeconds"`, "30 nil 604800s"},
		"an empty one does not":  {"?updateMask=labels", `, "updateMask": ""`, "10 b 604800s"},
	} {
		s := newREST(t).withSubscription("{}")
		got := s.do("PATCH "+subPath+c.query, fmt.Sprintf(change, c.inBody)).ok()
		if read := s.do("GET " + subPath).ok(); encode(read) != encode(got) {
			t.Errorf("%s: answered %v, then reads %v", name, got, read)
		}
		label := "nil"
		if labels, ok := got["labels"].(fields); ok {
			label = labels["a"].(string)
		}
		if told := fmt.Sprintf("%v %s %v", got["ackDeadlineSeconds"], label, got["messageRetentionDuration"]); told != c.want {
			t.Errorf("%s: %s, want %s", name, told, c.want)
		}
	}
}

// A masked field that is absent from the body goes back to its default, and what no mask names has no effect, however wrong.
func TestMaskDecides(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"ackDeadlineSeconds": 60, "expirationPolicy": {}, "retryPolicy": {}, "labels": {"a": "b"}}`)
	s.do("PATCH "+subPath, `{"updateMask": "ackDeadlineSeconds,expirationPolicy,retryPolicy"}`).is(`{
		"name": "projects/p/subscriptions/billing", "topic": "projects/p/topics/orders", "state": "ACTIVE",
		"ackDeadlineSeconds": 10, "messageRetentionDuration": "604800s", "expirationPolicy": {"ttl": "2678400s"}, "labels": {"a": "b"}}`)
	s.do("PATCH "+subPath, `{"subscription": {
		"topic": "x", "filter": "x", "enableMessageOrdering": true, "enableExactlyOnceDelivery": true, "ackDeadlineSeconds": 1,
		"messageRetentionDuration": "0s", "expirationPolicy": {"ttl": "0s"}, "deadLetterPolicy": {"deadLetterTopic": "x"},
		"pushConfig": {"oidcToken": {}}, "bigqueryConfig": {"table": "x"}, "labels": {}}, "updateMask": "labels"}`).is(`{
		"name": "projects/p/subscriptions/billing", "topic": "projects/p/topics/orders", "state": "ACTIVE",
		"ackDeadlineSeconds": 10, "messageRetentionDuration": "604800s", "expirationPolicy": {"ttl": "2678400s"}}`)
}

func TestBadMasks(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	for mask, words := range map[string][]string{
		"":                      {"updateMask", "at least one field"},
		"bogus":                 {"updateMask", `"bogus"`},
		"labels,bogus":          {"updateMask", `"bogus"`},
		"labels.a":              {"updateMask", `"labels.a"`},
		"*":                     {"updateMask"},
		"a..b":                  {"updateMask", `"a..b"`},
		"labels,":               {"updateMask"},
		"name":                  {"updateMask", "name cannot be changed"},
		"topic":                 {"updateMask", "topic cannot be changed"},
		"filter":                {"updateMask", "filter cannot be changed"},
		"enableMessageOrdering": {"updateMask", "enableMessageOrdering cannot be changed"},
		"message_ordering":      {"updateMask"},
	} {
		body := fields{"subscription": fields{"filter": "x", "topic": "projects/p/topics/other", "enableMessageOrdering": true}}
		s.do("PATCH "+subPath+"?updateMask="+mask, encode(body)).invalid(words...)
		body["updateMask"] = mask
		s.do("PATCH "+subPath, encode(body)).invalid(words...)
	}
	for _, mask := range []string{"", "name", "bogus", "state"} {
		s.do("PATCH "+topicPath+"?updateMask="+mask, `{"topic": {"labels": {"a": "b"}}}`).invalid("updateMask")
	}
	s.do("PATCH "+subPath+"?updateMask=labels&updateMask=topic", "{}").invalid("updateMask")
}
