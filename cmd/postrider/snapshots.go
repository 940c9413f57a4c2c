package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

func newSnapshots(p process) *cobra.Command {
	c := &cobra.Command{Use: "snapshots", Short: "Take, read, change and delete snapshots", GroupID: groupResources, Args: noArgs}
	c.AddCommand(newSnapshotCreate(p), newSnapshotGet(p), newSnapshotList(p), newSnapshotUpdate(p), newSnapshotDelete(p))
	return c
}

// onSnapshot makes c a client command whose first argument is a snapshot.
func onSnapshot(p process, c *cobra.Command, do func(context.Context, *session, subscriptions.SnapshotName) error) *cobra.Command {
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = completeFirst(p, listSnapshots)
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		name, err := s.snapshot(args[0])
		if err != nil {
			return err
		}
		return do(ctx, s, name)
	})
}

func (s *session) printSnapshot(n api.Snapshot, err error) error {
	if err != nil {
		return err
	}
	return s.print.result(n, func() error {
		return s.print.fields("snapshot", n.Name, "topic", n.Topic, "expires", timeText(n.ExpireTime), "labels", mapText(n.Labels))
	})
}

func timeText(t *wire.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func newSnapshotCreate(p process) *cobra.Command {
	var subscription string
	var labels pairs
	c := &cobra.Command{
		Use: "create SNAPSHOT --subscription SUBSCRIPTION", Short: "Take a snapshot of a subscription", Args: nArgs(1, 1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Take a snapshot of a subscription: what is unacknowledged now, and everything published from now on, is kept for seeks.
It lasts 7 days less the age of the oldest unacknowledged message.`,
		Example: "  postrider snapshots create before-deploy --subscription billing",
	}
	c.Flags().StringVar(&subscription, "subscription", "", "`SUBSCRIPTION` to take it of (required)")
	_ = c.MarkFlagRequired("subscription") // fails only for a flag that does not exist
	completeFlag(p, c, "subscription", listSubscriptions)
	c.Flags().Var(&labels, "label", "`KEY=VALUE` of a label; may be repeated")
	return onSnapshot(p, c, func(ctx context.Context, s *session, name subscriptions.SnapshotName) error {
		of, err := s.subscription(subscription)
		if err != nil {
			return err
		}
		body := api.CreateSnapshotRequest{Subscription: of.String(), Labels: labels}
		return s.printSnapshot(call[api.Snapshot](s.CreateSnapshot(ctx, name.Project, name.ID, body)))
	})
}

func newSnapshotGet(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "get SNAPSHOT", Short: "Show a snapshot", Args: nArgs(1, 1), Example: "  postrider snapshots get before-deploy",
	}
	return onSnapshot(p, c, func(ctx context.Context, s *session, name subscriptions.SnapshotName) error {
		return s.printSnapshot(call[api.Snapshot](s.GetSnapshot(ctx, name.Project, name.ID)))
	})
}

func newSnapshotList(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the snapshots of the project", Args: noArgs, Example: "  postrider snapshots list\n  postrider snapshots list -o json",
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, _ []string) error {
		snaps, err := everyPage(func(token string) ([]api.Snapshot, string, error) {
			page, err := call[api.ListSnapshotsResponse](s.ListSnapshots(ctx, s.project, &api.ListSnapshotsParams{PageToken: token}))
			return page.Snapshots, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		return list(s.print, snaps, []string{"SNAPSHOT", "TOPIC", "EXPIRES"}, func(n api.Snapshot) []string {
			return []string{n.Name, n.Topic, timeText(n.ExpireTime)}
		})
	})
}

func newSnapshotUpdate(p process) *cobra.Command {
	var labels pairs
	c := &cobra.Command{
		Use: "update SNAPSHOT", Short: "Change the labels of a snapshot", Args: nArgs(1, 1),
		Example: "  postrider snapshots update before-deploy --label team=payments",
	}
	c.Flags().Var(&labels, "label", "`KEY=VALUE` of a label; may be repeated; all labels together")
	c.Flags().Bool("clear-labels", false, "remove all labels")
	c.MarkFlagsOneRequired("label", "clear-labels")
	c.MarkFlagsMutuallyExclusive("label", "clear-labels")
	return onSnapshot(p, c, func(ctx context.Context, s *session, name subscriptions.SnapshotName) error {
		body := api.UpdateSnapshotRequest{Snapshot: &api.Snapshot{Labels: labels}, UpdateMask: "labels"}
		return s.printSnapshot(call[api.Snapshot](s.UpdateSnapshot(ctx, name.Project, name.ID, nil, body)))
	})
}

func newSnapshotDelete(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "delete SNAPSHOT", Short: "Delete a snapshot, and what only it held", Args: nArgs(1, 1),
		Example: "  postrider snapshots delete before-deploy",
	}
	return onSnapshot(p, c, func(ctx context.Context, s *session, name subscriptions.SnapshotName) error {
		empty, err := call[api.Empty](s.DeleteSnapshot(ctx, name.Project, name.ID))
		return s.printDone("deleted "+name.String(), empty, err)
	})
}
