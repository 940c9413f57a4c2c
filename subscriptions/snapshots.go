package subscriptions

import (
	"context"
	"maps"
	"time"
)

// CreateSnapshot takes a snapshot of a subscription, from its name, the
// subscription and labels. It expires SnapshotLife after the oldest unacked
// message was published. NOT_FOUND (subscription), INVALID_ARGUMENT,
// ALREADY_EXISTS; FAILED_PRECONDITION when it would expire within
// MinSnapshotLife, and for a detached subscription; ABORTED when it was deleted
// meanwhile.
func (s *Service) CreateSnapshot(ctx context.Context, snap Snapshot) (Snapshot, error) {
	if err := firstError(snap.Name.Validate(), snap.Subscription.Validate()); err != nil {
		return Snapshot{}, err
	}
	sub, err := s.GetSubscription(ctx, snap.Subscription)
	if err != nil {
		return Snapshot{}, err
	}
	if sub.Detached {
		return Snapshot{}, Errorf(FailedPrecondition, "%s is detached from its topic", sub.Name)
	}
	if err := validateLabels(snap.Labels); err != nil {
		return Snapshot{}, err
	}
	snap.UID, snap.Phase, snap.Revision = newUID(), Creating, 1
	snap.SubscriptionUID, snap.Topic, snap.TopicUID = sub.UID, sub.Topic, sub.TopicUID
	snap.Filter, snap.Routing = sub.Filter, clone(sub.Routing)
	err = inserted(
		func() error { return s.store.InsertSnapshot(ctx, snap) },
		func() error { return s.settleSnapshot(ctx, snap.Name) })
	if err != nil {
		return Snapshot{}, err
	}
	snap.TopicDeleted = sub.TopicDeleted
	created, err := s.finishCreateSnapshot(ctx, snap)
	return created, ofCreation(snap.Name, err)
}

// settleSnapshot finishes what a name's record says is half-made. It fails with
// ALREADY_EXISTS when there is an active snapshot then.
func (s *Service) settleSnapshot(ctx context.Context, name SnapshotName) error {
	snap, err := s.store.Snapshot(ctx, name)
	switch {
	case CodeOf(err) == NotFound:
		return nil
	case err != nil:
		return err
	case snap.Phase == Deleting:
		return s.finishDeleteSnapshot(ctx, snap)
	case snap.Phase == Creating:
		_, err := s.finishCreateSnapshot(ctx, snap)
		if code := CodeOf(err); code == NotFound || code == FailedPrecondition {
			return nil // it could not be taken: the name is free again
		}
		if err != nil {
			return err
		}
	}
	return Errorf(AlreadyExists, "%s already exists", name)
}

// finishCreateSnapshot takes the snapshot and its record from Creating to
// Active, or the record away when there is nothing to be taken (NOT_FOUND,
// FAILED_PRECONDITION). Any server may do it. What was asked for was not
// answered, so a later moment than it was asked at will do.
func (s *Service) finishCreateSnapshot(ctx context.Context, snap Snapshot) (Snapshot, error) {
	snap.Phase, snap.Revision = Active, snap.Revision+1
	err := s.directory.withSubscription(ctx, snap.Subscription, func(sub Subscription) (err error) {
		if sub.UID != snap.SubscriptionUID || sub.Detached {
			return subscriptionNotFound(snap.Subscription)
		}
		snap.Expires, err = s.store.TakeSnapshot(ctx, sub.Ref(), snap.Ref(), snap.Name)
		snap.MaxExpires = snap.Expires
		return err
	})
	if code := CodeOf(err); code == NotFound || code == FailedPrecondition {
		return Snapshot{}, firstError(s.dropCreating(ctx, snap), err)
	}
	if err != nil {
		return Snapshot{}, err
	}
	if err := s.store.ReplaceSnapshot(ctx, snap); err == nil {
		return snap, nil
	} else if CodeOf(err) != Aborted {
		return Snapshot{}, err
	}
	// Another server came first: to finish it too, or to delete it since.
	now, err := s.store.Snapshot(ctx, snap.Name)
	if CodeOf(err) == NotFound || err == nil && (now.UID != snap.UID || now.Phase == Deleting) {
		return Snapshot{}, firstError(s.store.DropSnapshot(ctx, snap.TopicUID, snap.UID), vanished(snap.Name))
	}
	return now, err
}

// dropCreating removes the record of a snapshot that cannot be taken, unless
// another server has done with it meanwhile. The revision of snap is the next.
func (s *Service) dropCreating(ctx context.Context, snap Snapshot) error {
	snap.Phase = Deleting
	err := s.store.ReplaceSnapshot(ctx, snap)
	if CodeOf(err) == Aborted {
		return nil
	}
	if err != nil {
		return err
	}
	return s.finishDeleteSnapshot(ctx, snap)
}

// GetSnapshot returns a snapshot. NOT_FOUND.
func (s *Service) GetSnapshot(ctx context.Context, name SnapshotName) (Snapshot, error) {
	snap, err := s.readSnapshot(ctx, name)
	if err != nil {
		return Snapshot{}, err
	}
	return s.withTopicOf(ctx, snap)
}

// readSnapshot returns the active record of the catalog.
func (s *Service) readSnapshot(ctx context.Context, name SnapshotName) (Snapshot, error) {
	if err := name.Validate(); err != nil {
		return Snapshot{}, err
	}
	snap, err := s.store.Snapshot(ctx, name)
	switch {
	case CodeOf(err) == NotFound || err == nil && snap.Phase == Deleting:
		return Snapshot{}, snapshotNotFound(name)
	case err == nil && snap.Phase == Creating:
		if snap, err = s.finishCreateSnapshot(ctx, snap); CodeOf(err) == FailedPrecondition {
			err = snapshotNotFound(name)
		}
	}
	return snap, err
}

// withTopicOf finds out whether the snapshot's topic is still there.
func (s *Service) withTopicOf(ctx context.Context, snap Snapshot) (Snapshot, error) {
	t, err := s.store.Topic(ctx, snap.Topic)
	if err != nil && CodeOf(err) != NotFound {
		return Snapshot{}, err
	}
	snap.TopicDeleted = err != nil || t.UID != snap.TopicUID || t.Phase == Deleting
	return snap, nil
}

// ListSnapshots returns a page of a project's snapshots in order of id, and the
// token of the next page, empty at the end. INVALID_ARGUMENT.
func (s *Service) ListSnapshots(ctx context.Context, project string, p Page) ([]Snapshot, string, error) {
	if err := ValidateProject(project); err != nil {
		return nil, "", err
	}
	size, after, err := p.start()
	if err != nil {
		return nil, "", err
	}
	page, next, err := listed(size, after,
		func(s Snapshot) string { return s.Name.ID },
		func(s Snapshot) bool { return s.Phase == Active },
		func(after string, limit int) ([]Snapshot, error) {
			return s.store.ListSnapshots(ctx, project, after, limit)
		})
	for i, snap := range page {
		if page[i], err = s.withTopicOf(ctx, snap); err != nil {
			return nil, "", err
		}
	}
	return page, next, err
}

// ListTopicSnapshots returns a page of the names of a topic's snapshots, of
// whatever project. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) ListTopicSnapshots(ctx context.Context, name TopicName, p Page) ([]SnapshotName, string, error) {
	t, err := s.GetTopic(ctx, name)
	if err != nil {
		return nil, "", err
	}
	size, after, err := p.start()
	if err != nil {
		return nil, "", err
	}
	names, err := s.store.SnapshotsOf(ctx, t.UID)
	if err != nil {
		return nil, "", err
	}
	page, next := namesAfter(names, size, after)
	return page, next, nil
}

var snapshotFields = map[string]fieldKind{
	"name":       fixed,
	"topic":      fixed,
	"expireTime": mutable,
	"labels":     mutable,
}

// UpdateSnapshot sets the fields that mask names to what they are in change. It
// may be kept shorter, and again as long as at first. NOT_FOUND,
// INVALID_ARGUMENT.
func (s *Service) UpdateSnapshot(ctx context.Context, change Snapshot, mask []string) (Snapshot, error) {
	snap, err := replaced(
		func() (Snapshot, error) { return s.readSnapshot(ctx, change.Name) },
		func(snap Snapshot) (Snapshot, error) {
			snap, err := s.applySnapshotMask(ctx, snap, change, mask)
			snap.Revision++
			return snap, err
		},
		func(snap Snapshot) error { return s.store.ReplaceSnapshot(ctx, snap) })
	if err != nil {
		return Snapshot{}, err
	}
	if _, err := s.store.KeepSnapshot(ctx, snap.Ref()); err != nil && !outdated(err) {
		return Snapshot{}, err
	}
	return s.withTopicOf(ctx, snap)
}

func (s *Service) applySnapshotMask(ctx context.Context, snap, change Snapshot, mask []string) (Snapshot, error) {
	fields, err := maskFields(mask, snapshotFields)
	if err != nil {
		return Snapshot{}, err
	}
	if fields["labels"] {
		snap.Labels = maps.Clone(change.Labels)
	}
	if fields["expireTime"] {
		left, err := s.store.KeepSnapshot(ctx, snap.Ref())
		if outdated(err) || err == nil && left <= 0 {
			return Snapshot{}, snapshotNotFound(snap.Name)
		}
		if err != nil {
			return Snapshot{}, err
		}
		expires := change.Expires.Truncate(time.Millisecond).UTC()
		if now := snap.Expires.Add(-left); !expires.After(now) || expires.After(snap.MaxExpires) {
			return Snapshot{}, Errorf(InvalidArgument, "expireTime: %s is out of range: it must be later than now, and %s, when this snapshot expires by itself, at the latest",
				expires.Format(time.RFC3339Nano), snap.MaxExpires.Format(time.RFC3339Nano))
		}
		snap.Expires = expires
	}
	return snap, validateLabels(snap.Labels)
}

// DeleteSnapshot deletes a snapshot, and what only it held. NOT_FOUND.
func (s *Service) DeleteSnapshot(ctx context.Context, name SnapshotName) error {
	snap, err := replaced(
		func() (Snapshot, error) { return s.readSnapshot(ctx, name) },
		func(snap Snapshot) (Snapshot, error) {
			snap.Phase, snap.Revision = Deleting, snap.Revision+1
			return snap, nil
		},
		func(snap Snapshot) error { return s.store.ReplaceSnapshot(ctx, snap) })
	if err != nil {
		return err
	}
	return s.finishDeleteSnapshot(ctx, snap)
}

// finishDeleteSnapshot drops what a tombstone holds, then removes the tombstone.
func (s *Service) finishDeleteSnapshot(ctx context.Context, snap Snapshot) error {
	if err := s.store.DropSnapshot(ctx, snap.TopicUID, snap.UID); err != nil {
		return err
	}
	if err := s.trim(ctx, snap.TopicUID); err != nil {
		return err
	}
	return s.store.RemoveSnapshot(ctx, snap.Name, snap.UID)
}

// expireSnapshot deletes a snapshot when its time has come, and returns when to
// look again.
func (s *Service) expireSnapshot(ctx context.Context, snap Snapshot) (next time.Duration) {
	left, err := s.store.KeepSnapshot(ctx, snap.Ref())
	switch {
	case outdated(err):
		s.log.WarnContext(ctx, "the store has lost a snapshot; its record goes, too", "name", snap.Name.String())
	case err != nil:
		s.logFailure(ctx, "look whether a snapshot has expired", snap.Name.String(), err)
		return sweepRetry
	case left > 0:
		return min(left, slowDelay())
	default:
		s.log.InfoContext(ctx, "snapshot expired", "name", snap.Name.String())
	}
	now, err := s.store.Snapshot(ctx, snap.Name)
	if err == nil && now.UID == snap.UID {
		err = s.DeleteSnapshot(ctx, snap.Name)
	}
	if err != nil && CodeOf(err) != NotFound {
		s.logFailure(ctx, "delete an expired snapshot", snap.Name.String(), err)
		return sweepRetry
	}
	return slowDelay()
}

func snapshotNotFound(name SnapshotName) error {
	return Errorf(NotFound, "%s does not exist", name)
}
