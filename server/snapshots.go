package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/rules"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Snapshots are the records of snapshots. Each method may also return UNAVAILABLE.
type Snapshots interface {
	// CreateSnapshot: NOT_FOUND, INVALID_ARGUMENT, ALREADY_EXISTS, FAILED_PRECONDITION, ABORTED.
	CreateSnapshot(context.Context, subscriptions.Snapshot) (subscriptions.Snapshot, error)
	// GetSnapshot: INVALID_ARGUMENT, NOT_FOUND.
	GetSnapshot(context.Context, subscriptions.SnapshotName) (subscriptions.Snapshot, error)
	// ListSnapshots: INVALID_ARGUMENT.
	ListSnapshots(ctx context.Context, project string, p subscriptions.Page) (page []subscriptions.Snapshot, next string, err error)
	// UpdateSnapshot: NOT_FOUND, INVALID_ARGUMENT.
	UpdateSnapshot(ctx context.Context, change subscriptions.Snapshot, mask []string) (subscriptions.Snapshot, error)
	// DeleteSnapshot: INVALID_ARGUMENT, NOT_FOUND.
	DeleteSnapshot(context.Context, subscriptions.SnapshotName) error
}

// Seeks move subscriptions in the log. Each method may also return UNAVAILABLE.
type Seeks interface {
	// ListTopicSnapshots: INVALID_ARGUMENT, NOT_FOUND.
	ListTopicSnapshots(ctx context.Context, topic subscriptions.TopicName, p subscriptions.Page) (page []subscriptions.SnapshotName, next string, err error)
	// Seek: INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION.
	Seek(context.Context, subscriptions.SubscriptionName, subscriptions.SeekTarget) error
	// SeekUndoably: INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION.
	SeekUndoably(context.Context, subscriptions.SubscriptionName, subscriptions.SeekTarget, subscriptions.SeekOptions) (subscriptions.SeekOutcome, error)
}

func snapshotName(project api.ProjectID, id api.SnapshotID) subscriptions.SnapshotName {
	return subscriptions.SnapshotName{Project: project, ID: id}
}

func apiSnapshot(s subscriptions.Snapshot) api.Snapshot {
	out := api.Snapshot{Name: s.Name.String(), Topic: s.Topic.String(), Labels: s.Labels, ExpireTime: wire.NewTimestamp(s.Expires)}
	if s.TopicDeleted {
		out.Topic = subscriptions.DeletedTopic
	}
	return out
}

// CreateSnapshot takes a snapshot of a subscription.
func (h *handler) CreateSnapshot(ctx context.Context, r api.CreateSnapshotRequestObject) (api.CreateSnapshotResponseObject, error) {
	of, err := subscriptions.ParseSubscriptionName("subscription", r.Body.Subscription)
	if err != nil {
		return nil, err
	}
	created, err := h.backend.CreateSnapshot(ctx, subscriptions.Snapshot{Name: snapshotName(r.Project, r.Snapshot), Subscription: of, Labels: r.Body.Labels})
	return api.CreateSnapshot200JSONResponse(apiSnapshot(created)), err
}

// GetSnapshot reads a snapshot.
func (h *handler) GetSnapshot(ctx context.Context, r api.GetSnapshotRequestObject) (api.GetSnapshotResponseObject, error) {
	snap, err := h.backend.GetSnapshot(ctx, snapshotName(r.Project, r.Snapshot))
	return api.GetSnapshot200JSONResponse(apiSnapshot(snap)), err
}

// ListSnapshots reads a page of a project's snapshots.
func (h *handler) ListSnapshots(ctx context.Context, r api.ListSnapshotsRequestObject) (api.ListSnapshotsResponseObject, error) {
	page, next, err := h.backend.ListSnapshots(ctx, r.Project, pageOf(r.Params.PageSize, r.Params.PageToken))
	snaps := make([]api.Snapshot, len(page))
	for i, s := range page {
		snaps[i] = apiSnapshot(s)
	}
	return api.ListSnapshots200JSONResponse{Snapshots: snaps, NextPageToken: next}, err
}

// UpdateSnapshot changes the fields that the mask names.
func (h *handler) UpdateSnapshot(ctx context.Context, r api.UpdateSnapshotRequestObject) (api.UpdateSnapshotResponseObject, error) {
	name := snapshotName(r.Project, r.Snapshot)
	change, mask, err := snapshotChange(name, r)
	if err != nil {
		return nil, rules.UnlessMissing(err, func() (subscriptions.Snapshot, error) { return h.backend.GetSnapshot(ctx, name) })
	}
	updated, err := h.backend.UpdateSnapshot(ctx, change, mask)
	return api.UpdateSnapshot200JSONResponse(apiSnapshot(updated)), err
}

func snapshotChange(name subscriptions.SnapshotName, r api.UpdateSnapshotRequestObject) (change subscriptions.Snapshot, mask []string, err error) {
	if mask, err = maskOf(r.Body.UpdateMask, r.Params.UpdateMask); err != nil {
		return change, mask, err
	}
	change.Name = name
	if in := r.Body.Snapshot; in != nil {
		change.Labels = in.Labels
		if in.ExpireTime != nil {
			change.Expires = in.ExpireTime.Time
		}
		err = agree(in.Name, name)
	}
	return change, mask, err
}

// DeleteSnapshot deletes a snapshot, and what only it held.
func (h *handler) DeleteSnapshot(ctx context.Context, r api.DeleteSnapshotRequestObject) (api.DeleteSnapshotResponseObject, error) {
	return api.DeleteSnapshot200JSONResponse{}, h.backend.DeleteSnapshot(ctx, snapshotName(r.Project, r.Snapshot))
}

// ListTopicSnapshots reads a page of the names of a topic's snapshots.
func (h *handler) ListTopicSnapshots(ctx context.Context, r api.ListTopicSnapshotsRequestObject) (api.ListTopicSnapshotsResponseObject, error) {
	page, next, err := h.backend.ListTopicSnapshots(ctx, topicName(r.Project, r.Topic), pageOf(r.Params.PageSize, r.Params.PageToken))
	names := make([]string, len(page))
	for i, n := range page {
		names[i] = n.String()
	}
	return api.ListTopicSnapshots200JSONResponse{Snapshots: names, NextPageToken: next}, err
}

// Seek makes a subscription deliver anew from a time or a snapshot on.
func (h *handler) Seek(ctx context.Context, r api.SeekRequestObject) (api.SeekResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	to, err := targetOf(r.Body.Time, r.Body.Snapshot)
	if err != nil {
		return nil, h.unlessSubscriptionMissing(ctx, name, err)
	}
	return api.Seek200JSONResponse{}, h.backend.Seek(ctx, name, to)
}

// SeekUndoably is Seek with a snapshot taken before, or without any change.
func (h *handler) SeekUndoably(ctx context.Context, r api.SeekUndoablyRequestObject) (api.SeekUndoablyResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	to, err := targetOf(r.Body.Time, r.Body.Snapshot)
	if err != nil {
		return nil, h.unlessSubscriptionMissing(ctx, name, err)
	}
	done, err := h.backend.SeekUndoably(ctx, name, to, subscriptions.SeekOptions{ValidateOnly: r.Body.ValidateOnly, WithoutUndo: r.Body.WithoutUndo})
	out := api.SeekUndoably200JSONResponse{UpperBound: done.UpperBound}
	if r.Body.ValidateOnly {
		out.UnackedMessages, out.AckedMessages = new(wire.Int64(done.Unacked)), new(wire.Int64(done.Acked))
	}
	if done.Undo.ID != "" {
		out.UndoSnapshot = done.Undo.String()
	}
	return out, err
}

// targetOf reads where a seek goes. That it is one of the two is the domain's to say.
func targetOf(at *wire.Timestamp, snapshot string) (to subscriptions.SeekTarget, err error) {
	if at != nil {
		to.Time = &at.Time
	}
	if snapshot != "" {
		name, err := subscriptions.ParseSnapshotName("snapshot", snapshot)
		if err != nil {
			return to, err
		}
		to.Snapshot = &name
	}
	return to, nil
}
