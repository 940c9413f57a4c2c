package web

import (
	"context"
	"net/http"

	"postrider/subscriptions"
)

// subscriptionData is what a subscription's page shows.
type subscriptionData struct {
	Name, Project string
	Path          string
	Sub           subscriptions.Subscription
	Report        subscriptions.SubscriptionReport
	State         []words
	Why           string // what stands in the way of pushes; empty if nothing does
	Explanation   subscriptions.Explanation
	Settings      []setting
	Figures       []figure
	Blocks        []subscriptions.Block
	MoreBlocks    bool
	LettersPath   string        // where its dead letters are; empty without a dead-letter topic
	Messages      []messageView // the first of those that wait
}

// shownBlocks bounds the list of blocked keys.
const shownBlocks = 50

// subscription is a subscription's page. It begins with a sentence on its state.
func (s *Site) subscription(r *http.Request) (page, error) {
	ctx, name := r.Context(), subscriptionIn(r)
	sub, err := s.backend.GetSubscription(ctx, name)
	if err != nil {
		return page{}, err
	}
	o, err := s.backend.Overview(ctx)
	if err != nil {
		return page{}, err
	}
	d := subscriptionData{
		Name: name.ID, Project: name.Project, Path: subscriptionPath(name), Sub: sub, Settings: settingsOf(sub),
		Report: reportOf(o, sub),
	}
	if !sub.Detached {
		if err := s.look(ctx, &d); err != nil {
			return page{}, err
		}
	}
	if sub.DeadLetter != nil && d.Explanation.DeadLetterTopic.ID == "" {
		d.LettersPath = lettersFrom(sub)
	}
	d.State = stateOf(o.At, d.Report)
	if sub.IsPush() && d.Report.Stats.Backlog() > 0 && !d.Report.Breaker.Open {
		d.Why = d.Explanation.Summary
	}
	return page{
		title: name.ID, name: "subscription", data: d,
		parts: []string{"subscription-state", "subscription-charts", "subscription-blocked", "subscription-messages", "subscription-settings"},
	}, nil
}

// look asks for what the overview does not have.
func (s *Site) look(ctx context.Context, d *subscriptionData) (err error) {
	if d.Explanation, err = s.backend.Explain(ctx, d.Sub.Name); err != nil {
		return err
	}
	// It is newer than what the overview has.
	d.Report.Stats, d.Report.Breaker = d.Explanation.Stats, d.Explanation.Breaker
	if d.Explanation.Push.Said() {
		d.Report.Push = d.Explanation.Push
	}
	if d.Sub.Ordered {
		var next string
		if d.Blocks, next, err = s.backend.BlockedKeys(ctx, d.Sub.Name, subscriptions.Page{Size: shownBlocks}); err != nil {
			return err
		}
		d.MoreBlocks = next != ""
	}
	if d.Report.Stats.Backlog() > 0 {
		found, _, err := s.backend.Peek(ctx, d.Sub.Name, subscriptions.Page{Size: peekedAtOnce})
		if err != nil {
			return err
		}
		for _, m := range found {
			d.Messages = append(d.Messages, newMessageView(m, "", 0).held(d.Report.Breaker))
		}
	}
	points, err := s.backend.History(ctx, d.Sub.Name)
	if err != nil {
		return err
	}
	d.Report.Buried = max(d.Report.Buried, buriedIn(points))
	d.Figures = figures(d.Sub.Name, points)
	return nil
}

// buriedIn is how many messages became dead letters in the last BuriedWindow: an overview may know of fewer.
func buriedIn(points []subscriptions.Point) (n int64) {
	for _, p := range points {
		if points[len(points)-1].At.Sub(p.At) < subscriptions.BuriedWindow {
			n += p.DeadLettered
		}
	}
	return n
}

// reportOf is a subscription's part of an overview; one that is too young to be there has not been measured.
func reportOf(o subscriptions.Overview, sub subscriptions.Subscription) subscriptions.SubscriptionReport {
	for _, r := range o.Subscriptions {
		if r.Subscription.UID == sub.UID && r.Subscription.Name == sub.Name {
			r.Subscription = sub
			return r
		}
	}
	return subscriptions.SubscriptionReport{Subscription: sub}
}

func subscriptionIn(r *http.Request) subscriptions.SubscriptionName {
	return subscriptions.SubscriptionName{Project: r.PathValue("project"), ID: r.PathValue("subscription")}
}

// closeBreaker closes the circuit breaker of a subscription's endpoint.
func (s *Site) closeBreaker(w http.ResponseWriter, r *http.Request) {
	name := subscriptionIn(r)
	if _, err := s.backend.ClosePushBreaker(r.Context(), name); err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, subscriptionPath(name)+"?done=breaker", http.StatusSeeOther)
}

// unblock takes the message away that blocks an ordering key.
func (s *Site) unblock(w http.ResponseWriter, r *http.Request) {
	name := subscriptionIn(r)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, unreadable(err))
		return
	}
	what := r.PostForm.Get("what")
	u := subscriptions.Unblocking{
		OrderingKey: r.PostForm.Get("key"), MessageID: r.PostForm.Get("message"), DeadLetter: what == "dead-letter",
	}
	if !u.DeadLetter && what != "skip" {
		s.fail(w, r, subscriptions.Errorf(subscriptions.InvalidArgument, "what is to become of the message: skip, or dead-letter?"))
		return
	}
	if err := s.backend.UnblockKey(r.Context(), name, u); err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, subscriptionPath(name)+"?done="+what, http.StatusSeeOther)
}

// unreadable is the error of a form that cannot be read.
func unreadable(err error) error {
	return subscriptions.WrapError(err, subscriptions.InvalidArgument, "the form cannot be read")
}
