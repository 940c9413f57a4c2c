package web

import (
	"slices"
	"testing"
	"time"

	"postrider/subscriptions"
)

func TestAttentionSaysWhatIsWrong(t *testing.T) {
	type report = subscriptions.SubscriptionReport
	dead := subscriptions.TopicReport{
		Topic: subscriptions.Topic{Name: topicOf("orders-dead")}, Owner: "payments", DeadLetters: 12,
		Sources: []subscriptions.SubscriptionName{subscriptionOf("billing")}, Subscriptions: []subscriptions.SubscriptionName{subscriptionOf("orders-dead")},
	}
	unread := dead
	unread.Subscriptions, unread.Owner = nil, ""
	clean := unread
	clean.DeadLetters = 0
	cases := []struct {
		name     string
		topics   []subscriptions.TopicReport
		change   func(*report)
		warnings []string
		expiring []subscriptions.Subscription
		want     []string
	}{
		{name: "nothing"},
		{name: "a backlog that drains", change: func(r *report) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Out, r.Drains = 5_000, time.Hour, 1, 30, time.Minute
		}},
		{name: "a young burst", change: func(r *report) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Drains = 5_000, 20*time.Second, 800, -1
		}},
		{
			name: "an open breaker", change: func(r *report) {
				r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://user:secret@api.example.com/x?key=1"}
				r.Breaker = subscriptions.Breaker{Open: true, Since: 12 * time.Minute, Probe: 24 * time.Second}
				r.Stats.Undelivered, r.Owner = 60, "shop"
			},
			want: []string{"critical: billing: the endpoint api.example.com has refused everything for 12 min, breaker open, next probe in 24 s, 60 messages wait, owner shop"},
		},
		{
			name: "an open breaker, and why", change: func(r *report) {
				pushes(r, answered(503), 40*time.Minute)
				r.Breaker = subscriptions.Breaker{Open: true, Since: 12 * time.Minute, Probe: 39 * time.Minute}
				r.Stats.Undelivered, r.Blocked = 60, subscriptions.BlockedKeys{Keys: 3, Since: now.Add(-time.Hour)}
			},
			want: []string{"critical: billing: the endpoint api.example.com has refused everything for 12 min (503 Service Unavailable), breaker open, " +
				"next probe in 39 min, as the endpoint asked (Retry-After), 60 messages wait"},
		},
		{
			name: "an open breaker of an endpoint that is not there", change: func(r *report) {
				pushes(r, subscriptions.Failure{Reason: "connection refused"}, 0)
				r.Breaker = subscriptions.Breaker{Open: true, Since: time.Minute, Probe: 4 * time.Second}
			},
			want: []string{"critical: billing: the endpoint api.example.com has refused everything for 60 s (connection refused), breaker open, next probe in 4 s"},
		},
		{
			name: "an endpoint that asks to be left alone", change: func(r *report) {
				pushes(r, answered(429), 14*time.Minute+20*time.Second)
				r.Stats.Undelivered, r.Owner, r.Drains = 60, "shop", -1
			},
			want: []string{"warning: billing: the endpoint api.example.com asks by Retry-After to be left alone for 14 min more (429 Too Many Requests), 60 messages wait, owner shop"},
		},
		{name: "an endpoint that asks for a moment", change: func(r *report) {
			pushes(r, answered(429), 50*time.Second)
			r.Stats.Undelivered, r.Drains = 60, -1
		}},
		{name: "an endpoint that asks while nothing waits", change: func(r *report) { pushes(r, answered(429), time.Hour) }},
		{
			name: "pushes that are refused", change: func(r *report) {
				pushes(r, answered(500), 0)
				r.Stats.Undelivered, r.Stats.OldestAge, r.Drains = 60, time.Hour, -1
			},
			want: []string{"warning: billing: 60 messages wait and nothing is taken, oldest 60 min, a push was refused 20 s ago (500 Internal Server Error): see why"},
		},
		{
			name: "pushes of which one was refused long ago", change: func(r *report) {
				pushes(r, answered(500), 0)
				r.Push.Age = recent
				r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Drains = 60, time.Hour, 5, -1
			},
			want: []string{"warning: billing: backlog grows 5.0/s, oldest 60 min, never drains at this rate: see why"},
		},
		{
			name: "blocked keys", change: func(r *report) {
				r.Stats.Outstanding, r.Stats.OldestAge, r.Drains, r.Owner = 7, 12*time.Minute, -1, "shop"
				r.Blocked = subscriptions.BlockedKeys{Keys: 3, Since: now.Add(-12 * time.Minute), Failed: subscriptions.Attempt{Failure: answered(422)}}
			},
			want: []string{"warning: billing: 3 ordering keys are blocked, the first for 12 min (422 Unprocessable Entity), owner shop"},
		},
		{
			name: "a blocked key", change: func(r *report) {
				r.Blocked = subscriptions.BlockedKeys{Keys: 1, Since: now.Add(-time.Minute), Failed: subscriptions.Attempt{Failure: subscriptions.Failure{Reason: subscriptions.ReasonRefused}}}
			},
			want: []string{"warning: billing: 1 ordering key is blocked for 60 s (refused by the subscriber)"},
		},
		{
			name: "blocked keys without end", change: func(r *report) {
				r.Blocked = subscriptions.BlockedKeys{Keys: 20, More: true, Since: now.Add(-time.Hour)}
			},
			want: []string{"warning: billing: 20 ordering keys or more are blocked, the first for 60 min"},
		},
		{name: "a key that is blocked for a moment", change: func(r *report) {
			r.Blocked = subscriptions.BlockedKeys{Keys: 3, Since: now.Add(-59 * time.Second)}
		}},
		{
			name: "a growing backlog", change: func(r *report) {
				r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Out, r.Drains = 500_000, 14*time.Minute, 13_700, 1_500, -1
			},
			want: []string{"warning: billing: backlog grows 12.2k/s, oldest 14 min, never drains at this rate"},
		},
		{
			name: "a growing backlog of pushes", change: func(r *report) {
				r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://api.example.com/"}
				r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Drains = 9, 14*time.Minute, 0.83, -1
			},
			want: []string{"warning: billing: backlog grows 0.83/s, oldest 14 min, never drains at this rate: see why"},
		},
		{
			name: "everything dies", change: func(r *report) {
				r.In, r.Out, r.Buried, r.Owner = 0.05, 0.05, 3, "shop"
			},
			want: []string{"warning: billing: 3 messages became dead letters in the last minutes, owner shop"},
		},
		{
			name: "much at once", change: func(r *report) {
				r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://api.example.com/"}
				r.Subscription.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicOf("gone"), MaxAttempts: 5}
				r.Breaker, r.Stats.Undelivered, r.Stats.OldestAge = subscriptions.Breaker{Open: true, Since: time.Hour}, 1, 6*24*time.Hour
			},
			want: []string{
				"critical: billing: the endpoint api.example.com has refused everything for 60 min, breaker open, probe due now, 1 message waits",
				"critical: billing: the oldest message is 6 d old and is dropped in 24 h: messages are kept for 7 d",
				"warning: billing: its dead-letter topic gone does not exist; messages that had all their attempts stay",
			},
		},
		{
			name: "dead letters that are dropped soon", topics: []subscriptions.TopicReport{dead}, change: func(r *report) {
				r.Subscription.Name, r.Subscription.Topic = subscriptionOf("orders-dead"), topicOf("orders-dead")
				r.Stats.Undelivered, r.Stats.OldestAge, r.Drains = 12, 6*24*time.Hour, -1
			},
			want: []string{
				"critical: orders-dead: the oldest message is 6 d old and is dropped in 24 h: messages are kept for 7 d",
				"warning: orders-dead holds 12 dead letters, owner payments, oldest 6 d",
			},
		},
		{
			name: "nothing is taken", change: func(r *report) {
				r.Stats.Undelivered, r.Stats.OldestAge, r.Drains = 1, time.Hour, -1
			},
			want: []string{"warning: billing: 1 message waits and nothing is taken, oldest 60 min"},
		},
		{
			name: "retention", change: func(r *report) {
				r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Out, r.Drains = 9, 6*24*time.Hour, 1, 30, time.Minute
			},
			want: []string{"critical: billing: the oldest message is 6 d old and is dropped in 24 h: messages are kept for 7 d"},
		},
		{
			name: "dead letters", topics: []subscriptions.TopicReport{dead}, change: func(r *report) {
				r.Subscription.Name, r.Subscription.Topic = subscriptionOf("orders-dead"), topicOf("orders-dead")
				r.Stats.Undelivered, r.Stats.OldestAge, r.Drains = 12, 3*time.Hour, -1
			},
			want: []string{"warning: orders-dead holds 12 dead letters, owner payments, oldest 3 h"},
		},
		{
			name: "dead letters that nobody reads", topics: []subscriptions.TopicReport{unread},
			want: []string{"warning: orders-dead holds 12 dead letters; it has no subscription, so they are dropped in the end"},
		},
		{
			name: "a dead-letter topic that nobody reads", topics: []subscriptions.TopicReport{clean},
			want: []string{"note: orders-dead is a dead-letter topic without a subscription: dead letters are dropped in the end, and nobody reads them"},
		},
		{
			name: "a dead-letter topic that is not there", change: func(r *report) {
				r.Subscription.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicOf("gone"), MaxAttempts: 5}
			},
			want: []string{"warning: billing: its dead-letter topic gone does not exist; messages that had all their attempts stay"},
		},
		{
			name: "the server's own warnings", warnings: []string{"nothing survives a stop"},
			want: []string{"note: Nothing survives a stop"},
		},
		{
			name: "what nobody uses", expiring: []subscriptions.Subscription{
				{Name: subscriptionOf("old"), Expires: now.Add(6 * 24 * time.Hour)}, {Name: subscriptionOf("older"), Expires: now.Add(5 * time.Hour)},
			},
			want: []string{
				"warning: older is not used, and will be deleted in 5 h unless it is", "note: old is not used, and will be deleted in 6 d unless it is",
			},
		},
		{name: "what was never measured", change: func(r *report) { r.Measured = time.Time{}; r.Stats.OldestAge = time.Hour }},
		{name: "what is detached", change: func(r *report) { r.Subscription.Detached = true }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, n := range attention(survey(c.topics, testReport("billing", c.change)), serverNotices(now, true, c.warnings), c.expiring) {
				got = append(got, n.Severity.String()+": "+n.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q\nnot %q", got, c.want)
			}
		})
	}
}

func answered(status int) subscriptions.Failure {
	return subscriptions.Failure{Reason: "no", Status: status}
}

// pushes makes a report one of pushes, whose owner said 20 s ago that one had just failed, and what the endpoint asked for.
func pushes(r *subscriptions.SubscriptionReport, f subscriptions.Failure, retryAfter time.Duration) {
	r.Subscription.Push = &subscriptions.PushConfig{Endpoint: "https://api.example.com/"}
	said := now.Add(-time.Hour) // by the clock of the owner
	r.Push = subscriptions.PushReport{
		Server: "a", At: said, Age: 20 * time.Second, Errors: []subscriptions.PushError{{Attempt: subscriptions.Attempt{Time: said, Failure: f}}},
	}
	if retryAfter > 0 {
		r.Push.RetryAfter = said.Add(retryAfter + r.Push.Age)
	}
}

// A word in the table says the same, and leads to the top.
func TestConditionsOfTrouble(t *testing.T) {
	for want, change := range map[string]func(*subscriptions.SubscriptionReport){
		"asked to wait": func(r *subscriptions.SubscriptionReport) {
			pushes(r, answered(429), time.Hour)
			r.Stats.Undelivered = 1
		},
		"keys blocked": func(r *subscriptions.SubscriptionReport) {
			r.Stats.Outstanding, r.Blocked = 2, subscriptions.BlockedKeys{Keys: 1, Since: now.Add(-time.Hour)}
		},
		"waiting": func(r *subscriptions.SubscriptionReport) {
			r.Stats.Outstanding, r.Blocked = 2, subscriptions.BlockedKeys{Keys: 1, Since: now.Add(-time.Second)}
		},
	} {
		if got := conditionOf(now, testReport("billing", change)); got.Word != want || (got.Severity == warning) != (want != "waiting") {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

func TestAttentionBeginsWithTheWorst(t *testing.T) {
	growing := func(age time.Duration) func(*subscriptions.SubscriptionReport) {
		return func(r *subscriptions.SubscriptionReport) {
			r.Stats.Undelivered, r.Stats.OldestAge, r.In, r.Drains = 10, age, 5, -1
		}
	}
	open := func(r *subscriptions.SubscriptionReport) { r.Breaker.Open = true }
	o := survey(nil, testReport("a-young", growing(5*time.Minute)), testReport("b-old", growing(time.Hour)), testReport("c-open", open))
	o.Store.Nodes = []subscriptions.NodeReport{{Address: "redis:6379", Used: 96, Max: 100}, {Address: "fine:6379", Used: 9e9}}
	var got []string
	for _, n := range attention(o, serverNotices(now, true, []string{"no append-only file"}), nil) {
		got = append(got, n.Subject)
	}
	if want := []string{"", "c-open", "b-old", "a-young", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestNamesHaveTheirProjectWhereThereAreSeveral(t *testing.T) {
	o := survey(nil, testReport("billing", func(r *subscriptions.SubscriptionReport) { r.Breaker.Open = true }))
	o.Topics = append(o.Topics, subscriptions.TopicReport{Topic: subscriptions.Topic{Name: subscriptions.TopicName{Project: "other", ID: "t-1"}}})
	if got := attention(o, nil, nil)[0].Subject; got != "demo/billing" {
		t.Errorf("got %q", got)
	}
}
