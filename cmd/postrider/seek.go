package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// moment is a flag that names a time: as RFC 3339 writes it, or how long ago it was.
type moment struct{ time.Time }

func (m *moment) Type() string { return "time" }

func (m *moment) String() string {
	if m.IsZero() {
		return ""
	}
	return m.Format(time.RFC3339Nano)
}

func (m *moment) Set(s string) (err error) {
	if m.Time, err = time.Parse(time.RFC3339Nano, s); err == nil {
		return nil
	}
	var ago duration
	if s != "now" && ago.Set(s) != nil {
		return errors.New(`expected a time such as 2026-11-29T12:00:00Z, how long ago it was, such as 90m or 2d, or "now"`)
	}
	m.Time = time.Now().Add(-time.Duration(ago))
	return nil
}

func newSeek(p process) *cobra.Command {
	var at moment
	var snapshot string
	var body api.SeekUndoablyRequest
	c := &cobra.Command{
		Use: "seek SUBSCRIPTION --time TIME|--snapshot SNAPSHOT", Short: "Deliver anew from a time or a snapshot on", GroupID: groupClient,
		Args: nArgs(1, 1),
		Long: `Deliver anew from a time or a snapshot on. What was published before the time is acknowledged; what was published later comes
again, as far as the topic or the subscription retains it. "now" acknowledges everything.

A snapshot is taken before, and named, so that the seek can be undone; what it holds is kept until it expires or is deleted.`,
		Example: `  postrider seek billing --time 2h --validate-only
  postrider seek billing --time 2026-11-29T12:00:00Z
  postrider seek billing --snapshot before-deploy --without-undo`,
	}
	c.Flags().Var(&at, "time", "`TIME` from which on messages come again, or how long ago that was, or now")
	c.Flags().StringVar(&snapshot, "snapshot", "", "`SNAPSHOT` to go back to")
	c.Flags().BoolVar(&body.ValidateOnly, "validate-only", false, "change nothing, and say how many messages would come again, or not any more")
	c.Flags().BoolVar(&body.WithoutUndo, "without-undo", false, "take no snapshot before")
	completeFlag(p, c, "snapshot", listSnapshots)
	c.MarkFlagsOneRequired("time", "snapshot")
	c.MarkFlagsMutuallyExclusive("time", "snapshot")
	return onSubscription(p, c, func(ctx context.Context, s *session, name subscriptions.SubscriptionName, _ []string) error {
		if snapshot != "" {
			to, err := s.snapshot(snapshot)
			if err != nil {
				return err
			}
			body.Snapshot = to.String()
		} else {
			body.Time = wire.NewTimestamp(at.Time)
		}
		done, err := call[api.SeekUndoablyResponse](s.SeekUndoably(ctx, name.Project, name.ID, body))
		if err != nil {
			return err
		}
		return s.print.result(done, func() error { return s.print.line("%s", seekText(name, body, done)) })
	})
}

// seekText says what a seek did, or would do.
func seekText(name subscriptions.SubscriptionName, body api.SeekUndoablyRequest, done api.SeekUndoablyResponse) string {
	switch {
	case body.ValidateOnly:
		most := ""
		if done.UpperBound {
			most = "at most "
		}
		again, gone := number(done.UnackedMessages), number(done.AckedMessages)
		return fmt.Sprintf("%s%s would come again, and %s%d not any more", most, count(again, "message"), most, gone)
	case done.UndoSnapshot != "":
		return fmt.Sprintf("sought %s; to undo it: postrider seek %s --snapshot %s --without-undo", name, name, done.UndoSnapshot)
	}
	return "sought " + name.String()
}

// number is 0 for one that is absent.
func number(n *wire.Int64) int {
	if n == nil {
		return 0
	}
	return int(*n)
}
