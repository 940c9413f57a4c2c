package storagetest

import (
	"strings"
	"time"

	"pgregory.net/rapid"

	"postrider/subscriptions"
)

// attempts compares what is kept of messages that failed.
func (m *machine) attempts() {
	s := m.anySub()
	rs := m.receipts(s)
	must(m, "attempts", func(store subscriptions.Store) ([][]subscriptions.Attempt, error) {
		return store.Attempts(ctx, s.ref, rs)
	})
}

// report has the owner say something, or compares what it said last.
func (m *machine) report() {
	s := m.anySub()
	if rapid.Bool().Draw(m.T, "say") {
		r := subscriptions.PushReport{Server: "server", Window: rapid.IntRange(0, 9).Draw(m.T, "window")}
		for range rapid.IntRange(0, 2).Draw(m.T, "refusals") {
			r.Errors = append(r.Errors, subscriptions.PushError{Attempt: subscriptions.Attempt{Failure: drawFailure(m.T)}})
		}
		m.do("report", func(store subscriptions.Store) error { return store.ReportPush(ctx, s.ref, r, 10*time.Second) })
	}
	must(m, "reported", func(store subscriptions.Store) (subscriptions.PushReport, error) { return store.PushReport(ctx, s.ref) })
}

// drawFailure draws why an attempt failed, of which several fill what is kept of a message.
func drawFailure(t *rapid.T) subscriptions.Failure {
	return rapid.SampledFrom([]subscriptions.Failure{
		{}, {Reason: "503"}, {Reason: "é %s \\", Status: 599, Took: 1500 * time.Millisecond},
		{Reason: strings.Repeat("r", subscriptions.MaxReason), Answer: strings.Repeat("a", subscriptions.MaxAnswer), Status: 400},
	}).Draw(t, "why")
}

// blocked compares what stands in the way of keys, in pages of any size.
func (m *machine) blocked() {
	s := m.anySub()
	size := rapid.IntRange(1, 5).Draw(m.T, "page size")
	must(m, "blocked", func(store subscriptions.Store) (all []subscriptions.Block, err error) {
		r := subscriptions.BlocksRequest{Ref: s.ref, Max: size}
		for more := true; more && err == nil; {
			var page subscriptions.BlocksResult
			page, err = store.Blocked(ctx, r)
			all = append(all, page.Blocks...)
			more, r.After = page.More, page.Next
		}
		return all, err
	})
}

// hasten lets what waits wait no longer than the rules say.
func (m *machine) hasten() {
	s := m.anySub()
	r := subscriptions.HastenRequest{Ref: s.ref, Rules: s.rules, Jitter: drawJitter(m.T)}
	must(m, "hasten", func(store subscriptions.Store) (int64, error) { return store.Hasten(ctx, r) })
}
