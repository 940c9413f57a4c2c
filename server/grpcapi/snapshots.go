package grpcapi

import (
	"context"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"postrider/server/rules"
	"postrider/subscriptions"
)

func pbSnapshot(s subscriptions.Snapshot) *pubsubpb.Snapshot {
	out := &pubsubpb.Snapshot{Name: s.Name.String(), Topic: s.Topic.String(), Labels: s.Labels, ExpireTime: timestamppb.New(s.Expires)}
	if s.TopicDeleted {
		out.Topic = subscriptions.DeletedTopic
	}
	return out
}

// CreateSnapshot takes a snapshot of a subscription. One without a name gets one, in the project of the subscription.
func (s *subscriber) CreateSnapshot(ctx context.Context, r *pubsubpb.CreateSnapshotRequest) (*pubsubpb.Snapshot, error) {
	of, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	name := subscriptions.NewSnapshotName(of.Project)
	if r.GetName() != "" {
		if name, err = subscriptions.ParseSnapshotName("name", r.GetName()); err != nil {
			return nil, s.unlessMissing(ctx, of, err)
		}
	}
	created, err := s.backend.CreateSnapshot(ctx, subscriptions.Snapshot{Name: name, Subscription: of, Labels: r.GetLabels()})
	return pbSnapshot(created), err
}

// GetSnapshot reads a snapshot.
func (s *subscriber) GetSnapshot(ctx context.Context, r *pubsubpb.GetSnapshotRequest) (*pubsubpb.Snapshot, error) {
	name, err := subscriptions.ParseSnapshotName("snapshot", r.GetSnapshot())
	if err != nil {
		return nil, err
	}
	snap, err := s.backend.GetSnapshot(ctx, name)
	return pbSnapshot(snap), err
}

// ListSnapshots reads a page of a project's snapshots.
func (s *subscriber) ListSnapshots(ctx context.Context, r *pubsubpb.ListSnapshotsRequest) (*pubsubpb.ListSnapshotsResponse, error) {
	project, err := projectOf(r.GetProject())
	if err != nil {
		return nil, err
	}
	page, next, err := s.backend.ListSnapshots(ctx, project, pageOf(r))
	snaps := make([]*pubsubpb.Snapshot, len(page))
	for i, snap := range page {
		snaps[i] = pbSnapshot(snap)
	}
	return &pubsubpb.ListSnapshotsResponse{Snapshots: snaps, NextPageToken: next}, err
}

// UpdateSnapshot changes the fields that the mask names.
func (s *subscriber) UpdateSnapshot(ctx context.Context, r *pubsubpb.UpdateSnapshotRequest) (*pubsubpb.Snapshot, error) {
	name, err := subscriptions.ParseSnapshotName("snapshot.name", r.GetSnapshot().GetName())
	if err != nil {
		return nil, err
	}
	change := subscriptions.Snapshot{Name: name, Labels: r.GetSnapshot().GetLabels()}
	mask, err := maskOf(r.GetUpdateMask())
	if at := r.GetSnapshot().GetExpireTime(); err == nil && at != nil && rules.Masked(mask)("expireTime") {
		change.Expires, err = timeOf("expireTime", at)
	}
	if err != nil {
		return nil, rules.UnlessMissing(err, func() (subscriptions.Snapshot, error) { return s.backend.GetSnapshot(ctx, name) })
	}
	updated, err := s.backend.UpdateSnapshot(ctx, change, mask)
	return pbSnapshot(updated), err
}

// DeleteSnapshot deletes a snapshot, and what only it held.
func (s *subscriber) DeleteSnapshot(ctx context.Context, r *pubsubpb.DeleteSnapshotRequest) (*emptypb.Empty, error) {
	name, err := subscriptions.ParseSnapshotName("snapshot", r.GetSnapshot())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.backend.DeleteSnapshot(ctx, name)
}

// ListTopicSnapshots reads a page of the names of a topic's snapshots.
func (p *publisher) ListTopicSnapshots(ctx context.Context, r *pubsubpb.ListTopicSnapshotsRequest) (*pubsubpb.ListTopicSnapshotsResponse, error) {
	name, err := subscriptions.ParseTopicName("topic", r.GetTopic())
	if err != nil {
		return nil, err
	}
	page, next, err := p.backend.ListTopicSnapshots(ctx, name, pageOf(r))
	names := make([]string, len(page))
	for i, n := range page {
		names[i] = n.String()
	}
	return &pubsubpb.ListTopicSnapshotsResponse{Snapshots: names, NextPageToken: next}, err
}

// Seek makes a subscription deliver anew from a time or a snapshot on.
func (s *subscriber) Seek(ctx context.Context, r *pubsubpb.SeekRequest) (*pubsubpb.SeekResponse, error) {
	name, err := subscriptions.ParseSubscriptionName("subscription", r.GetSubscription())
	if err != nil {
		return nil, err
	}
	to, err := targetOf(r)
	if err != nil {
		return nil, s.unlessMissing(ctx, name, err)
	}
	return &pubsubpb.SeekResponse{}, s.backend.Seek(ctx, name, to)
}

func targetOf(r *pubsubpb.SeekRequest) (to subscriptions.SeekTarget, err error) {
	switch target := r.GetTarget().(type) {
	case *pubsubpb.SeekRequest_Time:
		at, err := timeOf("time", target.Time)
		to.Time = &at
		return to, err
	case *pubsubpb.SeekRequest_Snapshot:
		name, err := subscriptions.ParseSnapshotName("snapshot", target.Snapshot)
		to.Snapshot = &name
		return to, err
	}
	return to, nil
}

func timeOf(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if err := t.CheckValid(); err != nil {
		return time.Time{}, subscriptions.WrapError(err, subscriptions.InvalidArgument, "%s: this is not a time", field)
	}
	return t.AsTime(), nil
}
