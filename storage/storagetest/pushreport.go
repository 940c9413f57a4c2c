package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var pushReporting = []check{
	{"what an owner says, with its age", reportKept},
	{"not for longer than it is to be kept", reportExpires},
	{"it goes with the subscription", reportDropped},
	{"a question wakes, and an answer does", reportWakes},
}

func (s *sub) report(r subscriptions.PushReport, keep time.Duration) {
	s.Helper()
	s.ok(s.Store.ReportPush(s.Context(), s.ref, r, keep))
}

func (s *sub) reported() subscriptions.PushReport {
	s.Helper()
	r, err := s.Store.PushReport(s.Context(), s.ref)
	s.ok(err)
	return r
}

func reportKept(r *rig) {
	t, s := r.one()
	same(r, "at first", s.reported(), subscriptions.PushReport{})
	at := time.Unix(1_700_000_000, 123_000_000).UTC()
	said := subscriptions.PushReport{
		Server: "a server", At: at, Window: 40, Limit: 30, InFlight: 7, Backoff: at.Add(time.Second), RetryAfter: at.Add(time.Minute),
		Paced: at.Add(time.Millisecond), HalfOpen: true, Full: true,
		Errors: []subscriptions.PushError{{
			MessageID: subscriptions.NewMessageID(1_700_000_000_000, 1<<40, 9999),
			Attempt: subscriptions.Attempt{Number: 3, Time: at, Failure: subscriptions.Failure{
				Reason: `no "way"`, Status: 503, Answer: "<é>\\", Took: 12 * time.Millisecond,
			}},
		}},
	}
	s.report(said, time.Hour)
	r.Clock.Advance(3 * time.Second)
	said.Age = 3 * time.Second
	same(r, "report", s.reported(), said)
	same(r, "another's", t.attach().reported(), subscriptions.PushReport{})
	s.report(subscriptions.PushReport{Server: "another"}, time.Hour)
	same(r, "report", s.reported(), subscriptions.PushReport{Server: "another"})
}

func reportExpires(r *rig) {
	_, s := r.one()
	s.report(subscriptions.PushReport{Server: "a server"}, time.Minute)
	r.Clock.Advance(time.Minute - time.Millisecond)
	same(r, "said by", s.reported().Server, "a server")
	r.Clock.Advance(time.Millisecond)
	same(r, "report", s.reported(), subscriptions.PushReport{})
}

func reportDropped(r *rig) {
	_, s := r.one()
	s.report(subscriptions.PushReport{Server: "a server"}, time.Hour)
	s.drop()
	r.is(s.Store.ReportPush(r.Context(), s.ref, subscriptions.PushReport{}, time.Hour), subscriptions.ErrGone)
	r.is(s.Store.AskPush(r.Context(), s.ref), subscriptions.ErrGone)
	r.ok(s.Store.Attach(r.Context(), s.ref, s.name))
	same(r, "report", s.reported(), subscriptions.PushReport{})
}

func reportWakes(r *rig) {
	t, s := r.one()
	w := r.watch(t.ref.UID)
	s.reported()
	w.brought()
	r.ok(s.Store.AskPush(r.Context(), s.ref))
	w.brought(subscriptions.Wake{Kind: subscriptions.Asked, Subscription: s.ref.Subscription})
	s.report(subscriptions.PushReport{}, time.Hour)
	w.brought(subscriptions.Wake{Kind: subscriptions.Reported, Subscription: s.ref.Subscription})
}
