package subscriptions

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestPublishLimits(t *testing.T) {
	data := []byte("x")
	attrs := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint("k", i)] = "v"
		}
		return m
	}
	one := func(m Message) []Message { return []Message{m} }
	for _, c := range []struct {
		name string
		msgs []Message
		want string // a part of the message; empty: accepted
	}{
		{"data", one(Message{Data: data}), ""},
		{"an attribute alone", one(Message{Attributes: attrs(1)}), ""},
		{"no messages", nil, "1 to 1000"},
		{"1,000 messages", many(1000, Message{Data: data}), ""},
		{"1,001 messages", many(1001, Message{Data: data}), "1 to 1000"},
		{"empty", one(Message{}), "messages[0]: data or at least one attribute"},
		{"only an ordering key", one(Message{OrderingKey: "k"}), "data or at least one attribute"},
		{"100 attributes", one(Message{Attributes: attrs(100)}), ""},
		{"101 attributes", one(Message{Attributes: attrs(101)}), "at most 100"},
		{"empty attribute key", one(Message{Attributes: map[string]string{"": "v"}}), "must not be empty"},
		{"key of 256 bytes", one(Message{Attributes: map[string]string{strings.Repeat("k", 256): "v"}}), ""},
		{"key of 257 bytes", one(Message{Attributes: map[string]string{strings.Repeat("k", 257): "v"}}), "256 bytes"},
		{"value of 1,024 bytes", one(Message{Attributes: map[string]string{"k": strings.Repeat("v", 1024)}}), ""},
		{"value of 1,025 bytes", one(Message{Attributes: map[string]string{"k": strings.Repeat("v", 1025)}}), "1024 bytes"},
		{"goog", one(Message{Attributes: map[string]string{"googx": "v"}}), "must not start with goog"},
		{"googclient_", one(Message{Attributes: map[string]string{"googclient_traceparent": "v"}}), ""},
		{"our own prefix", one(Message{Attributes: map[string]string{"postrider-tll": "1s"}}), "postrider-"},
		{"invalid UTF-8", one(Message{Attributes: map[string]string{"k": "\xff"}}), "UTF-8"},
		{"ordering key of 1,024 bytes", one(Message{Data: data, OrderingKey: strings.Repeat("o", 1024)}), ""},
		{"ordering key of 1,025 bytes", one(Message{Data: data, OrderingKey: strings.Repeat("o", 1025)}), "1024 bytes"},
		{"two ordering keys", []Message{{Data: data, OrderingKey: "a"}, {Data: data, OrderingKey: "b"}}, "same ordering key"},
		{"10 MB", one(Message{Data: make([]byte, MaxPublishBytes)}), ""},
		{"a byte more", one(Message{Data: make([]byte, MaxPublishBytes), Attributes: map[string]string{"a": ""}}), "10000000 bytes"},
		{"the second is bad", []Message{{Data: data}, {}}, "messages[1]"},
	} {
		check(t, c.name, validatePublish(c.msgs), c.want)
	}
}

func many(n int, m Message) []Message {
	msgs := make([]Message, n)
	for i := range msgs {
		msgs[i] = m
	}
	return msgs
}

func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (CodeOf(err) != InvalidArgument || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want one that says %q", name, err, want)
	}
}

func TestSubscriptionLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		sub  Subscription
		want string
	}{
		{"defaults", Subscription{}, ""},
		{"ack deadline 10 s", Subscription{AckDeadline: 10 * time.Second}, ""},
		{"ack deadline 600 s", Subscription{AckDeadline: 600 * time.Second}, ""},
		{"ack deadline 9 s", Subscription{AckDeadline: 9 * time.Second}, "10 to 600"},
		{"ack deadline 601 s", Subscription{AckDeadline: 601 * time.Second}, "10 to 600"},
		{"ack deadline negative", Subscription{AckDeadline: -time.Second}, "10 to 600"},
		{"retention 10 min", Subscription{Retention: 10 * time.Minute}, ""},
		{"retention 599 s", Subscription{Retention: 599 * time.Second}, "messageRetentionDuration"},
		{"retention 31 d", Subscription{Retention: 31 * 24 * time.Hour}, ""},
		{"retention more", Subscription{Retention: 31*24*time.Hour + 1}, "31 days"},
		{"ttl 1 d", Subscription{Expiration: 24 * time.Hour}, ""},
		{"ttl less", Subscription{Expiration: 24*time.Hour - 1}, "expirationPolicy.ttl"},
		{"attempts 4", Subscription{DeadLetter: &DeadLetterPolicy{MaxAttempts: 4}}, "5 to 100"},
		{"attempts 101", Subscription{DeadLetter: &DeadLetterPolicy{MaxAttempts: 101}}, "5 to 100"},
		{"attempts 100", Subscription{DeadLetter: &DeadLetterPolicy{MaxAttempts: 100}}, ""},
		{"backoff 601 s", Subscription{Retry: &RetryPolicy{0, 601 * time.Second}}, "retryPolicy.maximumBackoff"},
		{"backoff negative", Subscription{Retry: &RetryPolicy{-1, time.Second}}, "retryPolicy.minimumBackoff"},
		{"backoff upside down", Subscription{Retry: &RetryPolicy{20 * time.Second, 10 * time.Second}}, "greater than"},
		{"push", Subscription{Push: &PushConfig{Endpoint: "https://user@host.example:8443/a?b=c"}}, ""},
		{"push to nowhere", Subscription{Push: &PushConfig{Endpoint: "https:///x"}}, "pushConfig.pushEndpoint"},
		{"push by ftp", Subscription{Push: &PushConfig{Endpoint: "ftp://host/x"}}, "pushConfig.pushEndpoint"},
		{"push with a fragment", Subscription{Push: &PushConfig{Endpoint: "http://host/x#y"}}, "pushConfig.pushEndpoint"},
		{"push to a bad URL", Subscription{Push: &PushConfig{Endpoint: "http://[::1"}}, "pushConfig.pushEndpoint"},
		{"push to the last port", Subscription{Push: &PushConfig{Endpoint: "http://host:65535/x"}}, ""},
		{"push to a port beyond", Subscription{Push: &PushConfig{Endpoint: "http://host:65536/x"}}, "1 to 65535"},
		{"push to port 0", Subscription{Push: &PushConfig{Endpoint: "http://host:0/x"}}, "1 to 65535"},
		{"token", Subscription{Push: &PushConfig{Endpoint: "https://h/", Token: &OIDCToken{Email: "a@b", Audience: "https://é/ x"}}}, ""},
		{"token for nobody", Subscription{Push: &PushConfig{Endpoint: "https://h/", Token: &OIDCToken{}}}, "oidcToken.serviceAccountEmail"},
		{"token for no address", Subscription{Push: &PushConfig{Endpoint: "https://h/", Token: &OIDCToken{Email: "a"}}}, "e-mail"},
		{"token for two lines", Subscription{Push: &PushConfig{Endpoint: "https://h/", Token: &OIDCToken{Email: "a\n@b"}}}, "e-mail"},
		{"token for a long address", Subscription{Push: &PushConfig{Endpoint: "https://h/", Token: &OIDCToken{Email: "a@" + strings.Repeat("b", 253)}}}, "254"},
		{"token for a long audience", Subscription{Push: &PushConfig{Endpoint: "https://h/", Token: &OIDCToken{Email: "a@b", Audience: strings.Repeat("b", 2049)}}}, "2048"},
		{"token for a line", Subscription{Push: &PushConfig{Endpoint: "https://h/", Token: &OIDCToken{Email: "a@b", Audience: "a\n"}}}, "oidcToken.audience"},
		{"token and password", Subscription{Push: &PushConfig{Endpoint: "https://u:p@h/", Token: &OIDCToken{Email: "a@b"}}}, "Authorization"},
		{"token without endpoint", Subscription{Push: &PushConfig{Token: &OIDCToken{Email: "a@b"}}}, "pushConfig.oidcToken"},
		{"push attribute", Subscription{PushAttributes: map[string]string{"x-goog-version": "v1"}}, ""},
		{"push attribute unknown", Subscription{PushAttributes: map[string]string{"x": "v1"}}, "x-goog-version"},
		{"push version unknown", Subscription{PushAttributes: map[string]string{"x-goog-version": "v2"}}, "v2"},
		{"label upper case", Subscription{Labels: map[string]string{"A": ""}}, "lower-case"},
		{"label value long", Subscription{Labels: map[string]string{"a": strings.Repeat("v", 64)}}, "63"},
		{"label starts with a digit", Subscription{Labels: map[string]string{"1a": ""}}, "starting with a letter"},
		{"label international", Subscription{Labels: map[string]string{"größe": "日本"}}, ""},
	} {
		check(t, c.name, c.sub.complete(), c.want)
	}
}

func TestDefaults(t *testing.T) {
	s := Subscription{DeadLetter: &DeadLetterPolicy{}}
	if err := s.complete(); err != nil {
		t.Fatal(err)
	}
	if s.AckDeadline != 10*time.Second || s.Retention != 7*24*time.Hour || s.DeadLetter.MaxAttempts != 5 {
		t.Errorf("%+v %+v", s, s.DeadLetter)
	}
	if p := *NewRetryPolicy(nil, nil); p != (RetryPolicy{10 * time.Second, 600 * time.Second}) {
		t.Errorf("%+v", p)
	}
}

func TestMask(t *testing.T) {
	for _, c := range []struct {
		name string
		mask []string
		want string
	}{
		{"camel", []string{"ackDeadlineSeconds", "labels"}, ""},
		{"snake", []string{"ack_deadline_seconds", "retry_policy.minimum_backoff"}, ""},
		{"empty", nil, "updateMask"},
		{"unknown", []string{"colour"}, "colour"},
		{"fixed", []string{"enableMessageOrdering"}, "cannot be changed"},
		{"name", []string{"name"}, "cannot be changed"},
		{"star", []string{"*"}, "not a field"},
	} {
		_, err := maskFields(c.mask, subscriptionFields)
		check(t, c.name, err, c.want)
	}
}
