package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// desk is a backend with one topic and one subscription, which notes what is done.
type desk struct {
	fake
	works
	sub       subscriptions.Subscription
	blocks    []subscriptions.Block
	messages  []subscriptions.Peeked
	letters   []subscriptions.DeadLetter
	asked     []subscriptions.DeadLetterQuery
	points    []subscriptions.Point
	published []subscriptions.Message
	unblocked []subscriptions.Unblocking
	warnings  []string
	closed    int
	delayed   subscriptions.DelayedResult
}

// letterID is the id of the dead letter that there is.
var letterID = subscriptions.NewMessageID(1795959382492, 7, 1234)

// newDesk has a push subscription "billing" of topic "orders", as change leaves it.
func newDesk(change func(*desk, *subscriptions.SubscriptionReport)) *desk {
	d := &desk{}
	r := testReport("billing", nil)
	r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://user:secret@api.example.com/orders"}
	if change != nil {
		change(d, &r)
	}
	d.sub, d.overview = r.Subscription, survey(nil, r)
	return d
}

func (d *desk) GetTopic(_ context.Context, n subscriptions.TopicName) (subscriptions.Topic, error) {
	if n != topicOf("orders") {
		return subscriptions.Topic{}, subscriptions.Errorf(subscriptions.NotFound, "%s does not exist", n)
	}
	return subscriptions.Topic{Name: n, Labels: map[string]string{"owner": "shop"}}, nil
}

func (d *desk) GetSubscription(_ context.Context, n subscriptions.SubscriptionName) (subscriptions.Subscription, error) {
	if n != d.sub.Name {
		return subscriptions.Subscription{}, subscriptions.Errorf(subscriptions.NotFound, "%s does not exist", n)
	}
	return d.sub, nil
}

func (d *desk) Explain(context.Context, subscriptions.SubscriptionName) (subscriptions.Explanation, error) {
	r := d.overview.Subscriptions[0]
	return subscriptions.Explanation{Summary: "all that is left waits for its retry", Warnings: d.warnings, Owner: "server-1", Stats: r.Stats, Breaker: r.Breaker}, nil
}

func (d *desk) BlockedKeys(context.Context, subscriptions.SubscriptionName, subscriptions.Page) ([]subscriptions.Block, string, error) {
	return d.blocks, "", nil
}

func (d *desk) History(context.Context, subscriptions.SubscriptionName) ([]subscriptions.Point, error) {
	return d.points, nil
}

func (d *desk) Peek(_ context.Context, _ subscriptions.SubscriptionName, p subscriptions.Page) ([]subscriptions.Peeked, string, error) {
	if p.Token == "" && len(d.messages) > p.Size {
		return d.messages[:p.Size], "rest", nil
	}
	return d.messages, "", nil
}

func (d *desk) Delayed(context.Context, subscriptions.TopicName, subscriptions.Page) (subscriptions.DelayedResult, string, error) {
	return d.delayed, "", nil
}

func (d *desk) DeadLetters(_ context.Context, q subscriptions.DeadLetterQuery, p subscriptions.Page) ([]subscriptions.DeadLetter, string, error) {
	d.asked = append(d.asked, q)
	if len(q.IDs) > 0 && q.IDs[0] != letterID {
		return nil, "", nil
	}
	return d.letters, "", nil
}

func (d *desk) ClosePushBreaker(context.Context, subscriptions.SubscriptionName) (bool, error) {
	d.closed++
	return true, nil
}

func (d *desk) UnblockKey(_ context.Context, _ subscriptions.SubscriptionName, u subscriptions.Unblocking) error {
	d.unblocked = append(d.unblocked, u)
	return nil
}

func (d *desk) Publish(_ context.Context, n subscriptions.TopicName, msgs []subscriptions.Message) ([]subscriptions.MessageID, error) {
	if len(msgs[0].Data) == 0 && len(msgs[0].Attributes) == 0 {
		return nil, subscriptions.Errorf(subscriptions.InvalidArgument, "a message needs data or an attribute")
	}
	d.published = append(d.published, msgs...)
	return []subscriptions.MessageID{subscriptions.NewMessageID(1795959382492, 1, 5854)}, nil
}

const billingPath, ordersPath = "/projects/demo/subscriptions/billing", "/projects/demo/topics/orders"

func TestSubscriptionBeginsWithASentence(t *testing.T) {
	type report = subscriptions.SubscriptionReport
	for want, change := range map[string]func(*desk, *report){
		"No message waits, and none has come in the last minute.":               nil,
		"Keeping up: 12 messages a second come, and nothing waits.":             func(_ *desk, r *report) { r.In = 12 },
		"No message waits. Backlog":                                             func(_ *desk, r *report) { r.Recent = r.Recent[:1] },
		"No message waits. 3 messages became dead letters in the last minutes.": func(_ *desk, r *report) { r.In, r.Out, r.Buried = 0.05, 0.05, 3 },
		"at this rate the backlog is drained in 30 s. 1 message became a dead letter in the last minutes.": func(d *desk, r *report) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.Out, r.Drains = 60, 14*time.Minute, 2, 30*time.Second
			d.points = []subscriptions.Point{{At: now.Add(-5 * time.Minute), DeadLettered: 7}, {At: now.Add(-time.Minute), DeadLettered: 1}, {At: now}}
		},
		"Detached from its topic: it gets no messages any more": func(_ *desk, r *report) { r.Subscription.Detached = true },
		"The endpoint api.example.com has refused everything for 12 min: the circuit breaker is open, next probe in 24 s. 60 messages wait, the oldest for 14 min.": func(_ *desk, r *report) {
			r.Breaker = subscriptions.Breaker{Open: true, Since: 12 * time.Minute, Probe: 24 * time.Second}
			r.Stats.Undelivered, r.Stats.OldestAge = 60, 14*time.Minute
		},
		"has refused everything for 12 min (503 Service Unavailable): the circuit breaker is open, next probe in 24 s. No message waits.": func(_ *desk, r *report) {
			pushes(r, answered(503), 0)
			r.Breaker = subscriptions.Breaker{Open: true, Since: 12 * time.Minute, Probe: 24 * time.Second}
		},
		"The backlog grows by 8.0 messages a second. 60 messages wait, the oldest for 14 min, and it never drains at this rate. Why: all that is left waits for its retry.": func(_ *desk, r *report) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Out, r.Drains = 60, 14*time.Minute, 9, 1, -1
		},
		"At most 60 messages wait, the oldest for 14 min; at this rate the backlog is drained in 30 s.": func(_ *desk, r *report) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.Out, r.Drains, r.Stats.UpperBound = 60, 14*time.Minute, 2, 30*time.Second, true
		},
		"1 message waits, the oldest for less than a second, and none has been acknowledged in the last minute.": func(_ *desk, r *report) {
			r.Stats.Undelivered, r.Drains = 1, -1
		},
		"Its topic is deleted: nothing new comes. 1 message waits, the oldest for 7 s.": func(_ *desk, r *report) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.Subscription.TopicDeleted = 1, 7*time.Second, true
		},
	} {
		wants(t, shown(t, read(t, New(newDesk(change), Options{}), billingPath)), "billing", want)
	}
}

func TestDeadLetteringLeadsToTheDeadLetters(t *testing.T) {
	s := New(newDesk(func(_ *desk, r *subscriptions.SubscriptionReport) {
		r.Subscription.DeadLetter, r.Buried = &subscriptions.DeadLetterPolicy{Topic: topicOf("orders"), MaxAttempts: 5}, 2
	}), Options{})
	for _, path := range []string{"/", billingPath} {
		wants(t, read(t, s, path), `<a href="`+lettersPath+`?from=projects%2Fdemo%2Fsubscriptions%2Fbilling">2 messages became dead letters</a>`)
	}
	wants(t, shown(t, read(t, s, "/?q=dead-lettering")), "Subscriptions", "billing")
}

func TestSubscriptionShowsItsSettings(t *testing.T) {
	d := newDesk(func(d *desk, r *subscriptions.SubscriptionReport) {
		s := &r.Subscription
		s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicOf("orders-dead"), MaxAttempts: 7}
		s.Retry = &subscriptions.RetryPolicy{Minimum: 1500 * time.Millisecond, Maximum: time.Minute}
		s.Filter, s.Labels = `attributes.a = "<b>"`, map[string]string{"b": "2", "a": "1"}
		s.Terminal = subscriptions.TerminalAnswers{Statuses: []int{410, 422}, Header: "X-Poison"}
		d.warnings = []string{"it expires <soon>"}
		s.WebhookSecrets = []subscriptions.WebhookSecret{"whsec_c2VjcmV0"}
	})
	page := read(t, New(d, Options{}), billingPath)
	wants(t, page, `/projects/demo/topics/orders-dead/dead-letters?from=projects%2Fdemo%2Fsubscriptions%2Fbilling`)
	wants(t, shown(t, page), "It expires <soon>.", "Its dead letters", "Topic projects/demo/topics/orders", "Delivery push to https://user:xxxxx@api.example.com/orders",
		"Ack deadline 10 s", "are kept 7 days", "Retries after 1.5 s to 1 minute", "Dead letters after 7 attempts to projects/demo/topics/orders-dead",
		`Filter attributes.a = "<b>"`, "Expires after 31 days without use", "Signatures 1 webhook secret", "Refused for good by 410, 422, header X-Poison",
		"Labels a=1, b=2", "server-1")
}

func TestBlockedKeysAreTakenAwayOnlyOnPurpose(t *testing.T) {
	d := newDesk(func(d *desk, r *subscriptions.SubscriptionReport) {
		r.Subscription.Ordered = true
		r.Subscription.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicOf("orders-dead"), MaxAttempts: 7}
		id := subscriptions.NewMessageID(1795959382492, 1, 5854)
		d.blocks = []subscriptions.Block{{
			Since: now, State: subscriptions.BlockWaiting, Next: time.Now().Add(time.Hour), Behind: 1234,
			Head: subscriptions.Delivery{
				Message: subscriptions.Message{ID: id, OrderingKey: `<img src=x onerror=alert(1)>`}, Attempt: 3,
				Failed: []subscriptions.Attempt{
					{Number: 3, Time: now, Failure: subscriptions.Failure{Reason: "the endpoint answered 500", Answer: "<script>alert(1)</script>", Took: time.Second}},
					{Number: 2, Time: now, Failure: subscriptions.Failure{Reason: "no answer"}},
				},
			},
		}}
	})
	s := New(d, Options{Explain: explained})
	wants(t, shown(t, read(t, s, billingPath)), "Blocked ordering keys", "<img src=x onerror=alert(1)>", "1795959382492-15854", "1,234",
		"the endpoint answered 500 after 1s: <script>alert(1)</script>", "2 attempts are kept", "attempt 2", "no answer",
		"in 59 min", "Move it to the dead letters", "Drop it for good")
	for what, want := range map[string]int{"skip": http.StatusSeeOther, "dead-letter": http.StatusSeeOther, "": http.StatusBadRequest, "other": http.StatusBadRequest} {
		form := url.Values{"key": {"a b"}, "message": {"1-1"}, "what": {what}}.Encode()
		if answer := visit(t, s, "POST", billingPath+"/unblock", form); answer.StatusCode != want {
			t.Errorf("%q is answered %d", what, answer.StatusCode)
		}
	}
	if len(d.unblocked) != 2 || d.unblocked[0].OrderingKey != "a b" || d.unblocked[0].DeadLetter == d.unblocked[1].DeadLetter {
		t.Errorf("done is %+v", d.unblocked)
	}
}

func TestFormsOfOtherPagesDoNothing(t *testing.T) {
	d := newDesk(nil)
	s := New(d, Options{Explain: explained})
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		for _, path := range []string{billingPath + "/close-breaker", billingPath + "/unblock", ordersPath + "/publish"} {
			if answer := visit(t, s, "POST", path, "what=skip&data=x", headers...); answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %v is answered %d", path, headers, answer.StatusCode)
			}
		}
	}
	if d.closed+len(d.unblocked)+len(d.published) != 0 {
		t.Errorf("done is %+v", d)
	}
	answer := visit(t, s, "POST", billingPath+"/close-breaker", "", "Sec-Fetch-Site", "same-origin")
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != billingPath+"?done=breaker" || d.closed != 1 {
		t.Errorf("our own form is answered %d", answer.StatusCode)
	}
	wants(t, shown(t, read(t, s, billingPath+"?done=breaker")), "The circuit breaker is closed")
	if text := shown(t, read(t, s, billingPath+"?done=<b>You+won</b>")); len(text) == 0 {
		t.Error("no page")
	}
}

func TestChartsAreServed(t *testing.T) {
	d := newDesk(func(d *desk, _ *subscriptions.SubscriptionReport) { d.points = hour(61) })
	s := New(d, Options{Explain: explained})
	wants(t, read(t, s, billingPath), billingPath+"/charts/rates/dark.svg?at=", billingPath+"/charts/rates/light.svg?at=", "in now 60, out now 3; at most 60 in the last hour")
	answer := visit(t, s, "", billingPath+"/charts/rates/dark.svg", "")
	if answer.Header.Get("Content-Type") != "image/svg+xml" || answer.Header.Get("Content-Security-Policy") != chartPolicy {
		t.Errorf("got %v", answer.Header)
	}
	if answer := visit(t, s, "", billingPath+"/charts/other/dark.svg", ""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown chart is answered %d", answer.StatusCode)
	}
}

func TestTopicShowsWhoGetsWhat(t *testing.T) {
	s := New(newDesk(nil), Options{Explain: explained})
	wants(t, shown(t, read(t, s, ordersPath)), "orders", "Subscriptions", "billing", "Labels owner=shop")
	if answer := visit(t, s, "", "/projects/demo/topics/absent", ""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("an absent topic is answered %d", answer.StatusCode)
	}
}

// Of a topic, the page says what is known: "nothing lately" is not.
func TestTopicShowsWhatIsNotDueYet(t *testing.T) {
	d := newDesk(nil)
	s := New(d, Options{Explain: explained})
	d.overview.Topics[0].Published, d.overview.Topics[0].Subscriptions = 3, []subscriptions.SubscriptionName{subscriptionOf("billing")}
	text := shown(t, read(t, s, ordersPath))
	wants(t, text, "1 subscription gets what is published.", "Published 3", "Delayed 0")
	if strings.Contains(text, "nothing in the last") || strings.Contains(text, "Delayed messages") {
		t.Errorf("too much is said in %s", text)
	}
	d.overview.Topics[0].In = 12
	d.delayed = subscriptions.DelayedResult{Count: 1234, More: true, Messages: []subscriptions.DelayedMessage{{
		Message: subscriptions.Message{ID: subscriptions.NewMessageID(time.Now().Add(-7*time.Second).UnixMilli(), 1, 0)}, Due: time.Now().Add(time.Hour + time.Minute), Bytes: 5000,
	}}}
	wants(t, shown(t, read(t, s, ordersPath)), "what is published: 12 messages a second now.", "Delayed 1,234",
		"Delayed messages", "in 60 min", "7 s ago", "5.0 kB", "postrider topics delayed orders")
}

func TestPublishSendsWhatIsTyped(t *testing.T) {
	d := newDesk(nil)
	s := New(d, Options{Explain: explained})
	post := func(f url.Values) (int, string) {
		answer := visit(t, s, "POST", ordersPath+"/publish", f.Encode())
		return answer.StatusCode, answer.Header.Get("Location")
	}
	status, location := post(url.Values{"data": {"a\r\nb"}, "attributes": {"x = 1=2\r\n\r\ny=\r\n"}, "key": {"k"}, "form": {"text"}})
	if status != http.StatusSeeOther || location != ordersPath+"/publish?done=published&id=1795959382492-15854" {
		t.Errorf("answered %d %s", status, location)
	}
	m := d.published[0]
	if string(m.Data) != "a\nb" || m.OrderingKey != "k" || len(m.Attributes) != 2 || m.Attributes["x"] != " 1=2" {
		t.Errorf("published %+v", m)
	}
	wants(t, shown(t, read(t, s, location)), "The message is published", "1795959382492-15854")
	if status, _ := post(url.Values{"data": {" aGVs\nbG8= "}, "form": {"base64"}}); status != http.StatusSeeOther || string(d.published[1].Data) != "hello" {
		t.Errorf("base64 is answered %d", status)
	}
	for _, bad := range []url.Values{
		{"data": {"%"}, "form": {"base64"}}, {"data": {"x"}, "attributes": {"no value"}}, {"data": {"x"}, "attributes": {"a=1\na=2"}}, {},
	} {
		if status, _ := post(bad); status != http.StatusBadRequest {
			t.Errorf("%v is answered %d", bad, status)
		}
	}
	if len(d.published) != 2 {
		t.Errorf("published %+v", d.published)
	}
	if status, _ := post(url.Values{"data": {string(make([]byte, maxForm))}}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form is answered %d", status)
	}
}
