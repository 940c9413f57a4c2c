package grpcapi_test

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const snap = "projects/p/snapshots/snap"

func TestSnapshots(t *testing.T) {
	run(t, func(r *rig) {
		_, err := r.CreateSnapshot(r.ctx, &pubsubpb.CreateSnapshotRequest{Name: "bogus", Subscription: billing})
		r.refused(err, codes.NotFound, billing)
		r.subscribe(&pubsubpb.Subscription{})
		made := must[*pubsubpb.Snapshot](r)(r.CreateSnapshot(r.ctx, &pubsubpb.CreateSnapshotRequest{Name: snap, Subscription: billing, Labels: map[string]string{"a": "b"}}))
		if made.GetName() != snap || made.GetTopic() != orders || made.GetLabels()["a"] != "b" || time.Until(made.GetExpireTime().AsTime()) < 6*24*time.Hour {
			t.Errorf("created %v", made)
		}
		_, err = r.CreateSnapshot(r.ctx, &pubsubpb.CreateSnapshotRequest{Name: snap, Subscription: billing})
		r.refused(err, codes.AlreadyExists, snap)
		_, err = r.CreateSnapshot(r.ctx, &pubsubpb.CreateSnapshotRequest{Name: "bogus", Subscription: billing})
		r.refused(err, codes.InvalidArgument, "name")
		named := must[*pubsubpb.Snapshot](r)(r.CreateSnapshot(r.ctx, &pubsubpb.CreateSnapshotRequest{Subscription: billing}))
		if !strings.HasPrefix(named.GetName(), "projects/p/snapshots/snap-") {
			t.Errorf("the name is %q", named.GetName())
		}
		if got := must[*pubsubpb.Snapshot](r)(r.GetSnapshot(r.ctx, &pubsubpb.GetSnapshotRequest{Snapshot: snap})); !proto.Equal(got, made) {
			t.Errorf("got %v, created %v", got, made)
		}
		list := must[*pubsubpb.ListSnapshotsResponse](r)(r.ListSnapshots(r.ctx, &pubsubpb.ListSnapshotsRequest{Project: "projects/p", PageSize: 1}))
		if len(list.GetSnapshots()) != 1 || list.GetNextPageToken() == "" {
			t.Errorf("listed %v", list)
		}
		names := must[*pubsubpb.ListTopicSnapshotsResponse](r)(r.ListTopicSnapshots(r.ctx, &pubsubpb.ListTopicSnapshotsRequest{Topic: orders}))
		if len(names.GetSnapshots()) != 2 || names.GetSnapshots()[0] != snap {
			t.Errorf("listed %v", names)
		}
		sooner := timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Second))
		updated := must[*pubsubpb.Snapshot](r)(r.UpdateSnapshot(r.ctx, &pubsubpb.UpdateSnapshotRequest{
			Snapshot: &pubsubpb.Snapshot{Name: snap, ExpireTime: sooner}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"expire_time"}},
		}))
		if !proto.Equal(updated.GetExpireTime(), sooner) || updated.GetLabels()["a"] != "b" {
			t.Errorf("updated %v", updated)
		}
		_, err = r.UpdateSnapshot(r.ctx, &pubsubpb.UpdateSnapshotRequest{Snapshot: &pubsubpb.Snapshot{Name: snap}})
		r.refused(err, codes.InvalidArgument, "updateMask")
		_, err = r.UpdateSnapshot(r.ctx, &pubsubpb.UpdateSnapshotRequest{Snapshot: &pubsubpb.Snapshot{Name: snap + "x"}})
		r.refused(err, codes.NotFound, snap)
		_, err = r.DeleteSnapshot(r.ctx, &pubsubpb.DeleteSnapshotRequest{Snapshot: snap})
		r.must(err)
		_, err = r.DeleteSnapshot(r.ctx, &pubsubpb.DeleteSnapshotRequest{Snapshot: snap})
		r.refused(err, codes.NotFound, snap)
	})
}

func TestSeek(t *testing.T) {
	run(t, func(r *rig) {
		_, err := r.Seek(r.ctx, &pubsubpb.SeekRequest{Subscription: billing})
		r.refused(err, codes.NotFound, billing)
		r.subscribe(&pubsubpb.Subscription{RetainAckedMessages: true})
		must[*pubsubpb.PublishResponse](r)(r.Publish(r.ctx, &pubsubpb.PublishRequest{Topic: orders, Messages: []*pubsubpb.PubsubMessage{{Data: []byte("a")}}}))
		must[*pubsubpb.Snapshot](r)(r.CreateSnapshot(r.ctx, &pubsubpb.CreateSnapshotRequest{Name: snap, Subscription: billing}))
		pulled := func(want int) {
			t.Helper()
			//lint:ignore SA1019 what there is now is what the test wants
			got := must[*pubsubpb.PullResponse](r)(r.Pull(r.ctx, &pubsubpb.PullRequest{Subscription: billing, MaxMessages: 10, ReturnImmediately: true}))
			if len(got.GetReceivedMessages()) != want {
				t.Fatalf("pulled %v", got)
			}
		}
		to := func(at time.Time) *pubsubpb.SeekRequest {
			return &pubsubpb.SeekRequest{Subscription: billing, Target: &pubsubpb.SeekRequest_Time{Time: timestamppb.New(at)}}
		}
		must[*pubsubpb.SeekResponse](r)(r.Seek(r.ctx, to(time.Now().Add(time.Hour))))
		pulled(0)
		must[*pubsubpb.SeekResponse](r)(r.Seek(r.ctx, to(time.Now().Add(-time.Hour))))
		pulled(1)
		restore := &pubsubpb.SeekRequest{Subscription: billing, Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: snap}}
		must[*pubsubpb.SeekResponse](r)(r.Seek(r.ctx, restore))
		pulled(1)
		_, err = r.Seek(r.ctx, &pubsubpb.SeekRequest{Subscription: billing})
		r.refused(err, codes.InvalidArgument, "time or a snapshot")
		_, err = r.Seek(r.ctx, &pubsubpb.SeekRequest{Subscription: billing, Target: &pubsubpb.SeekRequest_Time{Time: &timestamppb.Timestamp{Nanos: -1}}})
		r.refused(err, codes.InvalidArgument, "time:")
		_, err = r.Seek(r.ctx, &pubsubpb.SeekRequest{Subscription: billing, Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: snap + "x"}})
		r.refused(err, codes.NotFound, snap)
	})
}
