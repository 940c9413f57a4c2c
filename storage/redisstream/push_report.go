package redisstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"postrider/subscriptions"
)

var (
	reportPushScript = newScript("report_push", onSubscription...)
	pushReportScript = newScript("push_report", with(onSubscription, "kept_report")...)
	askPushScript    = newScript("ask_push", onSubscription...)
)

// ReportPush implements subscriptions.PushReports. The report is kept as JSON of the domain's own fields: it lives for a
// while only, and what another version names otherwise reads as zero.
func (s *Store) ReportPush(ctx context.Context, ref subscriptions.Ref, r subscriptions.PushReport, keep time.Duration) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("redisstream: write a push report: %w", err)
	}
	_, err = s.onReport(ctx, reportPushScript, ref, text, wholeMillis(keep))
	return err
}

// PushReport implements subscriptions.PushReports.
func (s *Store) PushReport(ctx context.Context, ref subscriptions.Ref) (r subscriptions.PushReport, err error) {
	f, err := s.onReport(ctx, pushReportScript, ref)
	if err != nil || len(f.rest) == 0 {
		return r, err
	}
	r = f.pushReport()
	return r, f.err
}

// pushReport reads a report with its age.
func (f *fields) pushReport() (r subscriptions.PushReport) {
	age, text := millis(f.int()), f.text()
	if f.err == nil {
		f.err = json.Unmarshal([]byte(text), &r)
	}
	r.Age = age
	return r
}

// AskPush implements subscriptions.PushReports.
func (s *Store) AskPush(ctx context.Context, ref subscriptions.Ref) error {
	_, err := s.onState(ctx, askPushScript, ref)
	return err
}

// onReport runs a script on a subscription's state and its report.
func (s *Store) onReport(ctx context.Context, sc *script, ref subscriptions.Ref, args ...any) (*fields, error) {
	all := append([]any{s.now(), ref.Revision, s.keys.wake(ref.Topic), ref.Subscription}, args...)
	reply, err := s.run(ctx, sc, s.keys.reported(ref.Topic, ref.Subscription), all...)
	return &fields{name: sc.name, rest: reply}, err
}
