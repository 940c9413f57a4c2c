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
