package redisstream

import (
	"context"
	"slices"
	"time"

	"postrider/subscriptions"
)

var (
	takeScript         = newScript("take_snapshot", with(onSource, "oldest")...)
	keepScript         = newScript("keep_snapshot", onTopic...)
	dropSnapshotScript = newScript("drop_snapshot", with(onTopic, "trim_log", "empty")...)
)

// ceilMilli is a time in milliseconds, rounded up: what was published before it was so by the clock's milliseconds, too.
func ceilMilli(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}

// TakeSnapshot implements subscriptions.Seeks.
func (s *Store) TakeSnapshot(
	ctx context.Context, ref subscriptions.Ref, snap subscriptions.SnapshotRef, name subscriptions.SnapshotName,
) (expires time.Time, err error) {
	extra := append(s.keys.snapshot(ref.Topic, snap.Snapshot), s.keys.snapshots(ref.Topic))
	cursor := "0"
	err = s.onPurged(ctx, ref, func() (int64, error) {
		f, err := s.onStateAnd(ctx, takeScript, ref, extra, snap.Snapshot, name.String(), snap.Revision,
			wholeMillis(subscriptions.SnapshotLife), wholeMillis(subscriptions.MinSnapshotLife), cursor, wholeMillis(keepCopied))
		if err != nil {
			return 0, err
		}
		how, ms := f.int(), f.int()
		cursor = f.text()
		if how == sourceAbsent {
			return how, subscriptions.SnapshotTooShort(time.Duration(ms) * time.Millisecond)
		}
		expires = time.UnixMilli(ms).UTC()
		return how, f.err
	})
	return expires, err
}

// KeepSnapshot implements subscriptions.Seeks.
func (s *Store) KeepSnapshot(ctx context.Context, snap subscriptions.SnapshotRef) (left time.Duration, err error) {
	keys := append(slices.Clone(s.keys.topicSlot(snap.Topic)[:4]), s.keys.snapshot(snap.Topic, snap.Snapshot)[0])
	reply, err := s.run(ctx, keepScript, keys, s.now(), snap.Revision, s.keys.wake(snap.Topic), ceilMilli(snap.Expires))
	if err != nil {
		return 0, err
	}
	f := fields{name: keepScript.name, rest: reply}
	return time.Duration(f.int()) * time.Millisecond, f.err
}

// DropSnapshot implements subscriptions.Seeks.
func (s *Store) DropSnapshot(ctx context.Context, topic, snapshot string) error {
	slot := s.keys.topicSlot(topic)
	keys := slices.Concat(slot[:4], s.keys.snapshot(topic, snapshot), []string{s.keys.snapshots(topic), slot[4]})
	_, err := s.run(ctx, dropSnapshotScript, keys, s.now(), "", s.keys.wake(topic), snapshot)
	return err
}

// SnapshotsOf implements subscriptions.Seeks.
func (s *Store) SnapshotsOf(ctx context.Context, topic string) ([]subscriptions.SnapshotName, error) {
	texts, err := s.client.HVals(ctx, s.keys.snapshots(topic)).Result()
	if err != nil {
		return nil, failed(ctx, "snapshots of a topic", err)
	}
	slices.Sort(texts)
	names := make([]subscriptions.SnapshotName, len(texts))
	for i, text := range texts {
		names[i] = parseSnapshot(text)
	}
	return names, nil
}
