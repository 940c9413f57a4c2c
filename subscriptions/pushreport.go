package subscriptions

import (
	"context"
	"time"
)

const (
	// MaxPushErrors is how many refusals a PushReport has at most.
	MaxPushErrors = 5
	// keepReport is how long the last word of an owner is kept.
	keepReport = time.Hour
	// freshReport is how old a report may be to be taken for an answer.
	freshReport = 250 * time.Millisecond
	// answerTime is how long an owner has to answer.
	answerTime = time.Second
)

// PushReport is what the owner of a push subscription says of its pushes. Its
// times are by the clock of the server that says it.
type PushReport struct {
	// Server says it, and said it at At; zero where nothing was said.
	Server string
	At     time.Time
	// Age is how long ago that was, by the store's clock. Stores set it.
	Age time.Duration
	// Window is how many pushes flow control lets be out; Limit is the least of
	// that, the subscription's own limit and what a half-open breaker allows.
	Window, Limit, InFlight int
	// Nothing new is sent before Backoff, since most pushes were refused, before
	// RetryAfter, since the endpoint asked for it, and before Paced, by the
	// subscription's rate limit. Zero where that does not hold anything up.
	Backoff, RetryAfter, Paced time.Time
	// HalfOpen: the circuit breaker lets a few pushes go, to see how they do.
	HalfOpen bool
	// Full: the server has as many pushes out as it may.
	Full bool
	// Errors are the last refusals, newest first.
	Errors []PushError
}

// PushError is a push that was refused.
type PushError struct {
	MessageID MessageID
	Attempt
}

// Said tells whether somebody said anything.
func (r PushReport) Said() bool { return r.Server != "" }

// Left is how long it is until one of the report's times; 0 when it has passed.
func (r PushReport) Left(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(0, at.Sub(r.At)-r.Age)
}

// Ago is how long ago a time of the report was.
func (r PushReport) Ago(at time.Time) time.Duration { return max(0, r.At.Sub(at)+r.Age) }

// PushReports pass what owners say to who asks for it. Nothing of it decides
// anything.
type PushReports interface {
	// ReportPush keeps a report for a while in place of the last one, and wakes with
	// Reported.
	ReportPush(ctx context.Context, ref Ref, r PushReport, keep time.Duration) error
	// PushReport returns the last one; the zero value when there is none.
	PushReport(context.Context, Ref) (PushReport, error)
	// AskPush asks the owner for one: it wakes who waits on the subscription with
	// Asked.
	AskPush(context.Context, Ref) error
}

// ReportPush tells how the pushes of a subscription go. This server owns it.
// Where the subscription has gone there is nothing to tell.
func (s *Service) ReportPush(ctx context.Context, sub Subscription, r PushReport) error {
	r.Server = s.server
	return s.ofSame(ctx, sub, func(sub Subscription) error {
		return s.store.ReportPush(ctx, sub.Ref(), r, keepReport)
	})
}

// askOwner asks the owner how its pushes go. answered is false when it does not
// answer in time; the report is then the last there is, of whatever owner.
func (s *Service) askOwner(ctx context.Context, sub Subscription) (r PushReport, answered bool, err error) {
	r, err = s.store.PushReport(ctx, sub.Ref())
	if err != nil || r.Said() && r.Age <= freshReport {
		return r, err == nil, err
	}
	heard := make(chan struct{}, 1)
	stop, err := s.hub.listen(ctx, sub.TopicUID, func(w Wake) {
		if w.Kind == Reported && w.Subscription == sub.UID {
			signal(heard)
		}
	})
	if err != nil {
		return r, false, err
	}
	defer stop()
	if err := s.store.AskPush(ctx, sub.Ref()); err != nil {
		return r, false, err
	}
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case <-heard:
		r, err = s.store.PushReport(ctx, sub.Ref())
		return r, err == nil, err
	case <-late.C:
		return r, false, nil
	case <-ctx.Done():
		return r, false, canceled(ctx)
	}
}
