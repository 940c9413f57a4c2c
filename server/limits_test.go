package server_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// Each limit of a message: what passes, and what is refused with the field and the range.
func TestMessageLimits(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	attributes := func(n int) fields {
		f := fields{}
		for _, k := range numbered("key%d", n) {
			f[k] = "v"
		}
		return f
	}
	for name, c := range map[string]struct {
		message fields
		refusal []string // nil when it passes
	}{
		"data":                      {fields{"data": "aGk="}, nil},
		"data, URL-safe, unpadded":  {fields{"data": "aGk_Pz8"}, nil},
		"only an attribute":         {fields{"attributes": fields{"k": ""}}, nil},
		"nothing":                   {fields{}, []string{"messages[0]", "data or at least one attribute"}},
		"only a key":                {fields{"orderingKey": "k"}, []string{"messages[0]", "data or at least one attribute"}},
		"empty data":                {fields{"data": "", "attributes": fields{}}, []string{"messages[0]"}},
		"100 attributes":            {fields{"attributes": attributes(100)}, nil},
		"101 attributes":            {fields{"attributes": attributes(101)}, []string{"messages[0].attributes", "100", "101"}},
		"a key of 256 bytes":        {fields{"attributes": fields{strings.Repeat("k", 256): "v"}}, nil},
		"a key of 257 bytes":        {fields{"attributes": fields{strings.Repeat("k", 257): "v"}}, []string{"messages[0].attributes", "256", "257"}},
		"no key":                    {fields{"attributes": fields{"": "v"}}, []string{"messages[0].attributes"}},
		"a key of goog":             {fields{"attributes": fields{"googkey": "v"}}, []string{"messages[0].attributes", "goog"}},
		"a key of tracing":          {fields{"attributes": fields{"googclient_traceparent": "v"}}, nil},
		"a key of ours":             {fields{"attributes": fields{"postrider-typo": "v"}}, []string{"messages[0].attributes", "postrider-"}},
		"a value of 1,024 bytes":    {fields{"attributes": fields{"k": strings.Repeat("v", 1024)}}, nil},
		"a value of 1,025 bytes":    {fields{"attributes": fields{"k": strings.Repeat("v", 1025)}}, []string{`messages[0].attributes["k"]`, "1024", "1025"}},
		"a value of 1,026 in runes": {fields{"attributes": fields{"k": strings.Repeat("é", 513)}}, []string{`messages[0].attributes["k"]`, "1026"}},
		"a key of 1,024 bytes":      {fields{"data": "aGk=", "orderingKey": strings.Repeat("k", 1024)}, nil},
		"a key of 1,025 bytes":      {fields{"data": "aGk=", "orderingKey": strings.Repeat("k", 1025)}, []string{"messages[0].orderingKey", "1024", "1025"}},
		"what the server sets":      {fields{"data": "aGk=", "messageId": "x", "publishTime": "2020-01-01T00:00:00Z"}, nil},
	} {
		answer := s.do("POST "+topicPath+":publish", encode(fields{"messages": []fields{c.message}}))
		if c.refusal == nil {
			answer.ok()
			continue
		}
		if answer.status == 200 {
			t.Errorf("%s: accepted", name)
		}
		answer.invalid(c.refusal...)
	}
}

// A request is published wholly or not at all.
func TestPublishLimits(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	request := func(messages ...fields) answer {
		return s.do("POST "+topicPath+":publish", encode(fields{"messages": messages}))
	}
	good := fields{"data": "aGk="}
	request().invalid("messages", "1 to 1000", "0")
	s.do("POST "+topicPath+":publish", "{}").invalid("messages", "1 to 1000")
	many := make([]fields, 1001)
	for i := range many {
		many[i] = good
	}
	request(many...).invalid("messages", "1 to 1000", "1001")
	request(good, fields{"data": "aGk=", "orderingKey": "k"}).invalid("messages[1].orderingKey", "same ordering key")
	request(good, good, fields{}).invalid("messages[2]")
	s.none(subPath)
	if got := len(request(many[:1000]...).ok()["messageIds"].([]any)); got != 1000 {
		t.Errorf("1,000 messages got %d ids", got)
	}
	if got := s.stats("billing").Undelivered; got != 1000 {
		t.Errorf("%d messages are stored", got)
	}
}

// 10,000,000 bytes in all pass, which are 13.4 MB of JSON; one more does not, and nor does a body that no such request needs.
func TestLargePublish(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"ackDeadlineSeconds": 600}`) // on a slow machine, too
	half := strings.Repeat("x", 5_000_000)
	data := base64.StdEncoding.EncodeToString([]byte(half))
	body := `{"messages": [{"data": "` + data + `"}, {"data": "` + data + `"%s}]}`
	ids := s.do("POST "+topicPath+":publish", fmt.Sprintf(body, "")).ok()["messageIds"].([]any)
	body = fmt.Sprintf(body, `, "attributes": {"k": ""}`)
	s.do("POST "+topicPath+":publish", body).invalid("messages", "10000000", "10000001")
	s.do("POST "+topicPath+":publish", body, strings.Repeat(" ", 2<<20)).fails(413, "INVALID_ARGUMENT", "14680064")

	got := s.pull(subPath)
	got = append(got, s.pull(subPath)...) // an answer is bounded, too
	for i, m := range got {
		if string(m.Message.Data) != half || m.Message.MessageID != ids[i] {
			t.Errorf("message %d came back with %d bytes", i, len(m.Message.Data))
		}
	}
	if len(got) != 2 || len(ids) != 2 {
		t.Errorf("published %v, got %d messages", ids, len(got))
	}
}

func TestSubscriptionLimits(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	s.do("PUT "+deadPath, "{}").ok()
	s.subscribe("billing", "{}").ok()
	const dead = `"deadLetterTopic": "projects/p/topics/dead"`
	labels := func(n int) string {
		f := fields{}
		for _, k := range numbered("key%d", n) {
			f[k] = "v"
		}
		return encode(fields{"labels": f})
	}
	for settings, words := range map[string][]string{
		`{"ackDeadlineSeconds": 0}`:                                        nil,
		`{"ackDeadlineSeconds": 10}`:                                       nil,
		`{"ackDeadlineSeconds": 600}`:                                      nil,
		`{"ackDeadlineSeconds": 9}`:                                        {"ackDeadlineSeconds", "10 to 600"},
		`{"ackDeadlineSeconds": 601}`:                                      {"ackDeadlineSeconds", "10 to 600"},
		`{"ackDeadlineSeconds": -1}`:                                       {"ackDeadlineSeconds", "10 to 600"},
		`{"ackDeadlineSeconds": 2147483647}`:                               {"ackDeadlineSeconds", "10 to 600"},
		`{"messageRetentionDuration": "600s"}`:                             nil,
		`{"messageRetentionDuration": "2678400s"}`:                         nil,
		`{"messageRetentionDuration": "599.999999999s"}`:                   {"messageRetentionDuration", "600s", "2678400s"},
		`{"messageRetentionDuration": "2678400.000000001s"}`:               {"messageRetentionDuration", "600s", "2678400s"},
		`{"messageRetentionDuration": "315576000000s"}`:                    {"messageRetentionDuration", "600s", "2678400s"},
		`{"messageRetentionDuration": "-600s"}`:                            {"messageRetentionDuration", "600s", "2678400s"},
		`{"messageRetentionDuration": "0s"}`:                               {"messageRetentionDuration", "600s"},
		`{"expirationPolicy": {"ttl": "86400s"}}`:                          nil,
		`{"expirationPolicy": {"ttl": "86399.999s"}}`:                      {"expirationPolicy.ttl", "86400s"},
		`{"expirationPolicy": {"ttl": "-1s"}}`:                             {"expirationPolicy.ttl", "86400s"},
		`{"expirationPolicy": {"ttl": "0s"}}`:                              {"expirationPolicy.ttl", "86400s"},
		`{"retryPolicy": {"maximumBackoff": "600s"}}`:                      nil,
		`{"retryPolicy": {"maximumBackoff": "600.1s"}}`:                    {"retryPolicy.maximumBackoff", "0s to 600s"},
		`{"retryPolicy": {"minimumBackoff": "-0.1s"}}`:                     {"retryPolicy.minimumBackoff", "0s to 600s"},
		`{"retryPolicy": {"maximumBackoff": "5s"}}`:                        {"retryPolicy", "minimumBackoff", "maximumBackoff"},
		`{"deadLetterPolicy": {}}`:                                         {"deadLetterPolicy.deadLetterTopic"},
		`{"deadLetterPolicy": {"deadLetterTopic": "dead"}}`:                {"deadLetterPolicy.deadLetterTopic", "projects/PROJECT/topics/ID"},
		`{"deadLetterPolicy": {"maxDeliveryAttempts": 5}}`:                 {"deadLetterPolicy.deadLetterTopic"},
		`{"deadLetterPolicy": {"maxDeliveryAttempts": 5, ` + dead + `}}`:   nil,
		`{"deadLetterPolicy": {"maxDeliveryAttempts": 100, ` + dead + `}}`: nil,
		`{"deadLetterPolicy": {"maxDeliveryAttempts": 4, ` + dead + `}}`:   {"deadLetterPolicy.maxDeliveryAttempts", "5 to 100"},
		`{"deadLetterPolicy": {"maxDeliveryAttempts": 101, ` + dead + `}}`: {"deadLetterPolicy.maxDeliveryAttempts", "5 to 100"},
		`{"pushConfig": {"pushEndpoint": "example.com"}}`:                  {"pushConfig.pushEndpoint", "http or https"},
		`{"pushConfig": {"pushEndpoint": "https://e.com/#f"}}`:             {"pushConfig.pushEndpoint", "fragment"},
		`{"pushConfig": {"attributes": {"a": "b"}}}`:                       {"pushConfig.attributes", "x-goog-version"},
		labels(64):                  nil,
		labels(65):                  {"labels", "64", "65"},
		`{"labels": {"Team": "a"}}`: {"labels", "Team"},
		`{"labels": {"team": "A"}}`: {`labels["team"]`},
	} {
		s.creates(settings, words)
		s.changes(settings, words)
	}
	s.subscribe("topicless", `{"topic": ""}`).invalid("topic", "projects/PROJECT/topics/ID")
}

// creates tries settings at creation; they are refused with the words, if any.
func (s rest) creates(settings string, words []string) {
	s.t.Helper()
	answer := s.subscribe("tried", settings)
	if words != nil {
		answer.invalid(words...)
		return
	}
	answer.ok()
	s.do("DELETE p/subscriptions/tried").ok()
}

// changes tries the same as a change of the one field.
func (s rest) changes(settings string, words []string) {
	s.t.Helper()
	body := parsed(s.t, settings)
	var mask []string
	for field := range body {
		mask = append(mask, field)
	}
	answer := s.do("PATCH "+subPath, encode(fields{"subscription": body, "updateMask": strings.Join(mask, ",")}))
	if words != nil {
		answer.invalid(words...)
		return
	}
	answer.ok()
}

func TestTopicLabels(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	s.do("PUT p/topics/other", `{"labels": {"a": "B"}}`).invalid(`labels["a"]`)
	s.do("PATCH "+topicPath, `{"topic": {"labels": {"1": "b"}}, "updateMask": "labels"}`).invalid("labels", `"1"`)
}

func TestPullAndAckLimits(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	s.subscribe("other", "{}").ok()
	s.publish("message")
	mine, theirs := s.one(subPath).AckID, s.one("p/subscriptions/other").AckID
	if len(mine) >= 200 {
		t.Errorf("an ack id of %d bytes: clients send 1,000 and more within 512 KiB", len(mine))
	}
	for _, c := range []struct {
		verb, body string
		words      []string
	}{
		{"pull", `{}`, []string{"maxMessages", "at least 1"}},
		{"pull", `{"maxMessages": -1}`, []string{"maxMessages", "at least 1"}},
		{"acknowledge", `{}`, []string{"ackIds", "at least one"}},
		{"acknowledge", `{"ackIds": []}`, []string{"ackIds", "at least one"}},
		{"acknowledge", `{"ackIds": ["` + mine + `", "nonsense"]}`, []string{"ackIds[1]", "nonsense"}},
		{"acknowledge", `{"ackIds": ["` + mine + `", "` + theirs + `"]}`, []string{"ackIds[1]", "another subscription"}},
		{"modifyAckDeadline", `{}`, []string{"ackIds", "at least one"}},
		{"modifyAckDeadline", `{"ackIds": ["", "` + mine + `"]}`, []string{"ackIds[0]"}},
		{"modifyAckDeadline", `{"ackIds": ["` + mine + `"], "ackDeadlineSeconds": 601}`, []string{"ackDeadlineSeconds", "0 to 600"}},
		{"modifyAckDeadline", `{"ackIds": ["` + mine + `"], "ackDeadlineSeconds": -1}`, []string{"ackDeadlineSeconds", "0 to 600"}},
	} {
		s.do("POST "+subPath+":"+c.verb, c.body).invalid(c.words...)
	}
	if got := s.stats("billing"); got.Outstanding != 1 || got.Nacked != 0 {
		t.Errorf("what was refused had an effect: %+v", got)
	}
	s.do("POST "+subPath+":pull", `{"maxMessages": 2147483647, "returnImmediately": true}`).is(`{}`)
	s.do("POST "+subPath+":modifyAckDeadline", `{"ackIds": ["`+mine+`"], "ackDeadlineSeconds": 600}`).is(`{}`)
	s.ack(subPath, mine).is(`{}`)
	s.ack(subPath, mine, mine).is(`{}`)
}
