package storagetest

import (
	"slices"
	"time"

	"postrider/subscriptions"
)

var surveying = []check{
	{"counts are those of stats", surveyCounts},
	{"one point a minute, for an hour", surveyHistory},
	{"what is delayed", surveyDelayed},
	{"what has no state has no points", surveyGone},
	{"a clock that goes back", surveyClockBack},
	{"an open breaker", surveyBreaker},
	{"what the owner of pushes says", surveyReport},
	{"blocked keys", surveyBlocked},
	{"more blocked keys than are counted", surveyManyBlocked},
	{"findings are shared once", findingsShared},
	{"an older finding has no effect", findingsOlder},
	{"many findings", findingsMany},
	{"findings are forgotten", findingsForgotten},
	{"a position of another life", findingsLost},
	{"the store says how it is", reporting},
}

func (t *topic) survey(subs ...*sub) subscriptions.Survey {
	t.Helper()
	var uids []string
	for _, s := range subs {
		uids = append(uids, s.ref.Subscription)
	}
	v, err := t.Store.Survey(t.Context(), t.ref.UID, uids)
	t.ok(err)
	if len(v.Subscriptions) != len(subs) {
		t.Fatalf("%d subscriptions are surveyed, want %d", len(v.Subscriptions), len(subs))
	}
	return v
}

// newest is the last point of a history.
func newest(points []subscriptions.Counts) subscriptions.Counts { return points[len(points)-1] }

func surveyCounts(r *rig) {
	t, a := r.one()
	b := t.attach()
	t.publish("one", "two", "three", "four")
	r.Clock.Advance(3 * time.Second)
	a.ack(a.lease(1)...)
	a.nack(a.lease(2)...)
	v := t.survey(a, b)
	same(r, "the topic", newest(v.Topic), subscriptions.Counts{
		At: r.Clock.Now(), Published: 4, PublishedBytes: 15, Log: newest(v.Topic).Log,
	})
	if log := newest(v.Topic).Log; log < 4 || log > int64(4+r.Slack) {
		r.Fatalf("the log has %d messages", log)
	}
	for i, s := range []*sub{a, b} {
		same(r, "a subscription", v.Subscriptions[i], subscriptions.SurveyedSubscription{
			UID:    s.ref.Subscription,
			Points: []subscriptions.Counts{{At: r.Clock.Now(), Published: 4, PublishedBytes: 15, Stats: s.stats()}},
		})
	}
	same(r, "the age", newest(v.Subscriptions[1].Points).Stats.OldestAge, 3*time.Second)
}

func surveyHistory(r *rig) {
	t, s := r.one()
	for range 90 {
		for range 3 { // the last of a minute stays, but for the very first
			r.Clock.Advance(20 * time.Second)
			t.publish("x")
			t.survey(s)
		}
	}
	points := t.survey(s).Subscriptions[0].Points
	end := r.Clock.Now()
	same(r, "the last", newest(points).At, end)
	same(r, "published", newest(points).Stats.Undelivered, int64(270))
	if n := len(points); n < 60 || n > 62 {
		r.Fatalf("%d points are kept", n)
	}
	if at := points[1].At; end.Sub(at) >= time.Hour {
		r.Fatalf("the second point is %v old", end.Sub(at))
	}
	if at := points[0].At; end.Sub(at) < time.Hour {
		r.Fatalf("the first point is only %v old", end.Sub(at))
	}
	for i := 2; i < len(points)-1; i++ {
		same(r, "the time between two", points[i].At.Sub(points[i-1].At), time.Minute)
	}
	r.Clock.Advance(3 * time.Hour)
	points = t.survey(s).Subscriptions[0].Points
	same(r, "points after a rest", len(points), 2)
	same(r, "the first", points[0].At, end)
}

func surveyDelayed(r *rig) {
	t, s := r.one()
	t.publishAll(delayed("a", time.Minute), delayed("b", time.Hour))
	same(r, "delayed", newest(t.survey(s).Topic).Delayed, int64(2))
	r.Clock.Advance(2 * time.Minute)
	s.stats() // which appends what is due
	v := t.survey(s)
	same(r, "delayed", newest(v.Topic).Delayed, int64(1))
	same(r, "undelivered", newest(v.Subscriptions[0].Points).Stats.Undelivered, int64(1))
}

func surveyGone(r *rig) {
	t, s := r.one()
	t.publish("x")
	t.survey(s)
	s.drop()
	v := t.survey(s)
	same(r, "points of what was dropped", len(v.Subscriptions[0].Points), 0)
	r.ok(s.Store.Attach(r.Context(), s.ref, s.name))
	same(r, "points of what is new", len(t.survey(s).Subscriptions[0].Points), 1)
	s.drop()
	r.ok(t.Store.CloseTopic(r.Context(), t.ref.UID))
	v = t.survey(s)
	same(r, "points of a closed topic", len(v.Topic), 0)
	never, err := r.Store.Survey(r.Context(), unique("t"), nil)
	r.ok(err)
	same(r, "points of no topic", len(never.Topic), 0)
	again, err := r.Store.Survey(r.Context(), t.ref.UID, nil)
	r.ok(err)
	same(r, "points of a closed topic", len(again.Topic), 0)
}

func surveyClockBack(r *rig) {
	t, s := r.one()
	t.survey(s)
	r.Clock.Advance(time.Minute)
	t.survey(s)
	at := r.Clock.Now()
	r.Clock.Advance(-10 * time.Minute)
	t.publish("x")
	points := t.survey(s).Subscriptions[0].Points
	same(r, "points", len(points), 2)
	same(r, "the last", newest(points).At, at)
	same(r, "its backlog", newest(points).Stats.Undelivered, int64(1))
}

func surveyBreaker(r *rig) {
	t, s := r.one()
	same(r, "breaker", t.survey(s).Subscriptions[0].Breaker, subscriptions.Breaker{})
	s.keep(subscriptions.Breaker{Open: true, Endpoint: "e", Since: time.Second, Probe: 5 * time.Second})
	r.Clock.Advance(2 * time.Second)
	same(r, "breaker", t.survey(s).Subscriptions[0].Breaker, s.breakerWithTimes())
}

func surveyReport(r *rig) {
	t, s := r.one()
	other := t.attach()
	same(r, "report", t.survey(s).Subscriptions[0].Push, subscriptions.PushReport{})
	at := r.Clock.Now().UTC()
	said := subscriptions.PushReport{
		Server: "a server", At: at, RetryAfter: at.Add(time.Hour),
		Errors: []subscriptions.PushError{refusal(r, 503), refusal(r, 429)},
	}
	s.report(said, time.Minute)
	r.Clock.Advance(time.Minute - time.Millisecond)
	said.Age, said.Errors = time.Minute-time.Millisecond, said.Errors[:1]
	v := t.survey(other, s)
	same(r, "report", v.Subscriptions[1].Push, said)
	same(r, "another's", v.Subscriptions[0].Push, subscriptions.PushReport{})
	same(r, "what is kept", len(s.reported().Errors), 2)
	r.Clock.Advance(time.Millisecond)
	same(r, "report", t.survey(s).Subscriptions[0].Push, subscriptions.PushReport{})
}

func refusal(r *rig, status int) subscriptions.PushError {
	return subscriptions.PushError{
		MessageID: subscriptions.NewMessageID(1_700_000_000_000, 1, 1),
		Attempt: subscriptions.Attempt{Number: 1, Time: r.Clock.Now().UTC(), Failure: subscriptions.Failure{
			Reason: "no", Status: status, Answer: "busy", Took: time.Second,
		}},
	}
}

// surveyedBlocks are the blocked keys that a survey finds.
func (s *sub) surveyedBlocks() subscriptions.BlockedKeys {
	s.Helper()
	v, err := s.Store.Survey(s.Context(), s.ref.Topic, []string{s.ref.Subscription})
	s.ok(err)
	return v.Subscriptions[0].Blocked
}

func surveyBlocked(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Minute)
	t.send("a1", "a2", "b1", "b2", "c1", "-1")
	ds := s.leasesRun(1, "a1", "b1", "c1", "-1")
	none := subscriptions.BlockedKeys{}
	same(r, "blocked while leased", s.surveyedBlocks(), none)
	r.Clock.Advance(time.Second)
	s.refuse("first", ds[0])
	r.Clock.Advance(time.Second)
	s.refuse("second", ds[1], ds[3])
	s.ack(ds[2])
	first := subscriptions.BlockedKeys{Keys: 2, Since: r.Clock.Now().UTC().Add(-time.Second), Failed: s.blocks("a1", "b1")[0].Head.Failed[0]}
	r.Clock.Advance(time.Second)
	same(r, "blocked", s.surveyedBlocks(), first)
	same(r, "reason", first.Failed.Reason, "first")
	r.Clock.Advance(time.Minute)
	again := s.leasesRun(1, "a1", "b1", "-1")
	same(r, "blocked while tried again", s.surveyedBlocks(), first)
	s.ack(again[0])
	b := s.surveyedBlocks()
	same(r, "keys", b.Keys, 1)
	same(r, "reason", b.Failed.Reason, "second")
	s.ack(again[1:]...)
	same(r, "blocked in the end", s.surveyedBlocks(), none)
}

func surveyManyBlocked(r *rig) {
	t, s := r.ordered()
	s.rules.Retry = fixed(time.Minute)
	refuse := func(keys int) {
		var msgs []string
		for i := range keys {
			msgs = append(msgs, string(rune('a'+i))+"1")
		}
		t.send(msgs...)
		s.refuse("no", s.lease(100)...)
	}
	refuse(subscriptions.MaxSurveyedKeys)
	b := s.surveyedBlocks()
	same(r, "keys", b.Keys, subscriptions.MaxSurveyedKeys)
	same(r, "more", b.More, false)
	t.send("z1")
	s.refuse("no", s.lease(100)...)
	b = s.surveyedBlocks()
	same(r, "keys", b.Keys, subscriptions.MaxSurveyedKeys)
	same(r, "more", b.More, true)
}

func (r *rig) findings(position string) subscriptions.Findings {
	r.Helper()
	page, err := r.Store.Findings(r.Context(), position)
	r.ok(err)
	return page
}

// found makes a finding with everything in it.
func (r *rig) found(uid string, after time.Duration) subscriptions.Finding {
	at := r.Clock.Now().Add(after)
	return subscriptions.Finding{
		UID: uid,
		Points: []subscriptions.Counts{
			{At: at.Add(-time.Minute), Published: 1},
			{At: at, Published: 2, PublishedBytes: 3, Log: 4, Delayed: 18, Stats: subscriptions.Stats{
				Undelivered: 5, Outstanding: 6, Dead: 7, Parked: 8, Bytes: 1 << 50, OldestAge: 9 * time.Second,
				Acked: 10, Nacked: 11, Expired: 12, Dropped: 13, Lost: 14, DeadLettered: 15, Filtered: 16, Late: 17,
			}},
		},
		Backlog: []int64{0, 11},
		Push: subscriptions.PushReport{
			Server: "a server", At: at, Age: time.Second, Window: 1, Limit: 2, InFlight: 3, Backoff: at.Add(4), RetryAfter: at.Add(5), Paced: at.Add(6),
			HalfOpen: true, Full: true, Errors: []subscriptions.PushError{refusal(r, 503)},
		},
		Blocked: subscriptions.BlockedKeys{Keys: 7, More: true, Since: at, Failed: refusal(r, 422).Attempt},
		Breaker: subscriptions.Breaker{Open: true, Endpoint: "an endpoint", Since: time.Second, Probe: 2 * time.Second, Probes: 3, OpenTime: time.UnixMilli(1).UTC(), ProbeTime: time.UnixMilli(2).UTC()},
	}
}

func findingsShared(r *rig) {
	first := r.findings("")
	same(r, "lost", first.Lost, true)
	same(r, "the time", first.Now, r.Clock.Now())
	a, b := r.found("a", 0), r.found("b", 0)
	r.ok(r.Store.Share(r.Context(), []subscriptions.Finding{a, b}))
	page := r.findings("")
	same(r, "findings", sorted(page.Found), []subscriptions.Finding{a, b})
	same(r, "more", page.More, false)
	next := r.findings(page.Position)
	same(r, "lost", next.Lost, false)
	same(r, "findings", len(next.Found), 0)
	b = r.found("b", time.Second)
	r.ok(r.Store.Share(r.Context(), []subscriptions.Finding{b}))
	next = r.findings(page.Position)
	same(r, "findings", next.Found, []subscriptions.Finding{b})
}

func sorted(found []subscriptions.Finding) []subscriptions.Finding {
	slices.SortFunc(found, func(a, b subscriptions.Finding) int {
		if a.UID < b.UID {
			return -1
		}
		return 1
	})
	return found
}

func findingsOlder(r *rig) {
	a := r.found("a", time.Minute)
	r.ok(r.Store.Share(r.Context(), []subscriptions.Finding{a}))
	page := r.findings("")
	r.ok(r.Store.Share(r.Context(), []subscriptions.Finding{r.found("a", 0)}))
	same(r, "findings", len(r.findings(page.Position).Found), 0)
	same(r, "findings", r.findings("").Found, []subscriptions.Finding{a})
}

func findingsMany(r *rig) {
	const many = 1050
	var all []subscriptions.Finding
	for range many {
		all = append(all, r.found(unique("s"), 0))
	}
	r.ok(r.Store.Share(r.Context(), all))
	seen := map[string]bool{}
	position, lost := "", true
	for more := true; more; {
		page := r.findings(position)
		same(r, "lost", page.Lost, lost)
		for _, f := range page.Found {
			seen[f.UID] = true
		}
		position, more, lost = page.Position, page.More, false
	}
	same(r, "seen", len(seen), many)
}

func findingsForgotten(r *rig) {
	a, b := r.found("a", 0), r.found("b", 0)
	r.ok(r.Store.Share(r.Context(), []subscriptions.Finding{a, b}))
	r.ok(r.Store.Forget(r.Context(), []string{"a", "never there"}))
	page := r.findings("")
	same(r, "findings", page.Found, []subscriptions.Finding{b})
	same(r, "more", page.More, false)
	r.ok(r.Store.Share(r.Context(), []subscriptions.Finding{a}))
	same(r, "findings", r.findings(page.Position).Found, []subscriptions.Finding{a})
}

func findingsLost(r *rig) {
	a := r.found("a", 0)
	r.ok(r.Store.Share(r.Context(), []subscriptions.Finding{a}))
	for _, position := range []string{"x", "x.1", ".", r.findings("").Position + "0"} {
		page := r.findings(position)
		same(r, "lost", page.Lost, true)
		same(r, "findings", page.Found, []subscriptions.Finding{a})
	}
}

func reporting(r *rig) {
	report, err := r.Store.Report(r.Context())
	r.ok(err)
	switch report.Kind {
	case "memory":
		same(r, "nodes", len(report.Nodes), 0)
	case "redis":
		if len(report.Nodes) == 0 || report.Nodes[0].Used <= 0 || report.Nodes[0].Latency <= 0 {
			r.Fatalf("the nodes are %+v", report.Nodes)
		}
	default:
		r.Fatalf("the store is a %q", report.Kind)
	}
}

// survey compares what surveys say of all subscriptions to a topic, but for what of the log is not cut off yet.
func (m *machine) survey() {
	t := m.anyTopic()
	uids := []string{"no such subscription"}
	for _, s := range m.subs {
		if s.topic == t {
			uids = append(uids, s.ref.Subscription)
		}
	}
	v := must(m, "survey", func(store subscriptions.Store) (subscriptions.Survey, error) {
		v, err := store.Survey(ctx, t.ref.UID, uids[:min(len(uids), subscriptions.MaxSurvey)])
		for i := range v.Topic {
			v.Topic[i].Log = 0
		}
		return v, err
	})
	if len(v.Topic) > 0 && newest(v.Topic).Published != t.n {
		m.Fatalf("%d messages were published, %d are counted", t.n, newest(v.Topic).Published)
	}
}
