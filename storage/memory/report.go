package memory

import (
	"context"
	"time"

	"postrider/subscriptions"
)

// keptReport is what an owner says, until it is too old. Times are in milliseconds.
type keptReport struct {
	subscriptions.PushReport
	said, until int64
}

// ReportPush implements subscriptions.PushReports.
func (s *Store) ReportPush(_ context.Context, ref subscriptions.Ref, r subscriptions.PushReport, keep time.Duration) error {
	return s.onState(ref, func(st *state) {
		st.report = keptReport{clone(r), s.now, s.now + millis(keep)}
		s.wakeState(st, subscriptions.Reported, 0)
	})
}

// PushReport implements subscriptions.PushReports.
func (s *Store) PushReport(_ context.Context, ref subscriptions.Ref) (r subscriptions.PushReport, err error) {
	err = s.onState(ref, func(st *state) { r = s.keptReport(st) })
	return r, err
}

// keptReport is what an owner said last, with its age, as long as it is kept.
func (s *Store) keptReport(st *state) (r subscriptions.PushReport) {
	if s.now < st.report.until {
		r = clone(st.report.PushReport)
		r.Age = until(st.report.said, s.now)
	}
	return r
}

// AskPush implements subscriptions.PushReports.
func (s *Store) AskPush(_ context.Context, ref subscriptions.Ref) error {
	return s.onState(ref, func(st *state) { s.wakeState(st, subscriptions.Asked, 0) })
}
