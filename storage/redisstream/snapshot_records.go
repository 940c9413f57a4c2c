package redisstream

import (
	"context"

	"postrider/subscriptions"
)

// InsertSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) InsertSnapshot(ctx context.Context, snap subscriptions.Snapshot) error {
	stored, err := encodeSnapshot(snap)
	if err != nil {
		return err
	}
	if err := s.noteProject(ctx, snap.Name.Project); err != nil {
		return err
	}
	added, err := s.write(ctx, insertScript, snap.Name.Project, snap.Name.String(), snapshots+snap.Name.ID, stored)
	if err == nil && !added {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the snapshot %s exists already", snap.Name)
	}
	return err
}

// Snapshot implements subscriptions.SnapshotCatalog.
func (s *Store) Snapshot(ctx context.Context, name subscriptions.SnapshotName) (subscriptions.Snapshot, error) {
	stored, found, err := s.record(ctx, name.Project, snapshots+name.ID)
	if err != nil {
		return subscriptions.Snapshot{}, err
	}
	if !found {
		return subscriptions.Snapshot{}, subscriptions.Errorf(subscriptions.NotFound, "there is no snapshot %s", name)
	}
	return decodeSnapshot(name, stored)
}

// ReplaceSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) ReplaceSnapshot(ctx context.Context, snap subscriptions.Snapshot) error {
	stored, err := encodeSnapshot(snap)
	if err != nil {
		return err
	}
	replaced, err := s.write(ctx, replaceScript, snap.Name.Project, snap.Name.String(),
		snapshots+snap.Name.ID, ofRevision(snap.UID, snap.Revision-1), stored)
	if err == nil && !replaced {
		return subscriptions.Errorf(subscriptions.Aborted, "the snapshot %s was changed by another request", snap.Name)
	}
	return err
}

// RemoveSnapshot implements subscriptions.SnapshotCatalog.
func (s *Store) RemoveSnapshot(ctx context.Context, name subscriptions.SnapshotName, uid string) error {
	_, err := s.write(ctx, removeScript, name.Project, name.String(), snapshots+name.ID, ofUID(uid))
	return err
}

// ListSnapshots implements subscriptions.SnapshotCatalog.
func (s *Store) ListSnapshots(
	ctx context.Context, project, after string, limit int,
) ([]subscriptions.Snapshot, error) {
	reply, err := s.run(ctx, listScript, s.keys.catalog(project), snapshots+after, afterSnapshots, limit)
	if err != nil {
		return nil, err
	}
	return decodeList(reply, func(id, stored string) (subscriptions.Snapshot, error) {
		return decodeSnapshot(subscriptions.SnapshotName{Project: project, ID: id}, stored)
	})
}
