package conformance

import (
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	pubsub "google.golang.org/api/pubsub/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	early = "projects/p/snapshots/early"
	late  = "projects/p/snapshots/late"
)

// pulled are the data of what there is now.
func (c client) pulled(sub string) (texts []string, ids []string) {
	c.t.Helper()
	got := ok(c, c.Projects.Subscriptions.Pull(sub, &pubsub.PullRequest{MaxMessages: 100, ReturnImmediately: true}))
	for _, r := range got.ReceivedMessages {
		texts, ids = append(texts, r.Message.Data), append(ids, r.AckId)
	}
	return texts, ids
}

// Google's REST client takes snapshots and seeks.
func TestSnapshotsOverREST(t *testing.T) {
	withClient(t, func(c client) {
		snaps, subs := c.Projects.Snapshots, c.Projects.Subscriptions
		refused(c, snaps.Get(early), 404, "NOT_FOUND", early)
		c.topic(orders)
		c.subscribe(billing, &pubsub.Subscription{RetainAckedMessages: true})
		start := time.Now().Add(-time.Minute).Format(time.RFC3339Nano)
		c.publish("a", "b")
		all, ids := c.pulled(billing)
		ok(c, subs.Acknowledge(billing, &pubsub.AcknowledgeRequest{AckIds: ids[:1]}))
		made := ok(c, snaps.Create(early, &pubsub.CreateSnapshotRequest{Subscription: billing, Labels: map[string]string{"a": "b"}}))
		if _, err := time.Parse(time.RFC3339Nano, made.ExpireTime); err != nil || made.Topic != orders || made.Name != early {
			c.t.Errorf("created %+v", made)
		}
		refused(c, snaps.Create(early, &pubsub.CreateSnapshotRequest{Subscription: billing}), 409, "ALREADY_EXISTS")
		ok(c, subs.Seek(billing, &pubsub.SeekRequest{Time: time.Now().Add(time.Hour).Format(time.RFC3339Nano)}))
		if got, _ := c.pulled(billing); len(got) != 0 {
			c.t.Errorf("after a purge came %v", got)
		}
		ok(c, subs.Seek(billing, &pubsub.SeekRequest{Snapshot: early}))
		if got, _ := c.pulled(billing); !slices.Equal(got, all[1:]) {
			c.t.Errorf("the snapshot brought %v, not %v", got, all[1:])
		}
		ok(c, subs.Seek(billing, &pubsub.SeekRequest{Time: start}))
		if got, _ := c.pulled(billing); !slices.Equal(got, all) {
			c.t.Errorf("the seek brought %v, not %v", got, all)
		}
		ok(c, snaps.Create(late, &pubsub.CreateSnapshotRequest{Subscription: billing}))
		if list := ok(c, snaps.List("projects/p").PageSize(1)); len(list.Snapshots) != 1 || list.Snapshots[0].Name != early || list.NextPageToken == "" {
			c.t.Errorf("listed %+v", list)
		}
		if list := ok(c, c.Projects.Topics.Snapshots.List(orders)); !slices.Equal(list.Snapshots, []string{early, late}) {
			c.t.Errorf("of the topic: %+v", list)
		}
		sooner := time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)
		patched := ok(c, snaps.Patch(early, &pubsub.UpdateSnapshotRequest{Snapshot: &pubsub.Snapshot{Name: early, ExpireTime: sooner}, UpdateMask: "expireTime,labels"}))
		if patched.ExpireTime != sooner || len(patched.Labels) != 0 {
			c.t.Errorf("patched to %+v", patched)
		}
		ok(c, snaps.Delete(early))
		refused(c, subs.Seek(billing, &pubsub.SeekRequest{Snapshot: early}), 404, "NOT_FOUND", early)
	})
}

// Google's gRPC client does, too.
func TestSnapshotsOverGRPC(t *testing.T) {
	withGRPC(t, func(c grpcClient) {
		subs := c.SubscriptionAdminClient
		c.topic(orders)
		c.subscribe(&pubsubpb.Subscription{Name: billing, Topic: orders, RetainAckedMessages: true})
		named, err := subs.CreateSnapshot(c.ctx, &pubsubpb.CreateSnapshotRequest{Name: early, Subscription: billing})
		c.must(err)
		unnamed, err := subs.CreateSnapshot(c.ctx, &pubsubpb.CreateSnapshotRequest{Subscription: billing})
		c.must(err)
		if named.GetName() != early || unnamed.GetName() == "" || unnamed.GetTopic() != orders {
			c.Errorf("created %v and %v", named, unnamed)
		}
		_, err = subs.Seek(c.ctx, &pubsubpb.SeekRequest{Subscription: billing, Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: early}})
		c.must(err)
		_, err = subs.Seek(c.ctx, &pubsubpb.SeekRequest{Subscription: billing, Target: &pubsubpb.SeekRequest_Time{Time: timestamppb.New(time.Now().Add(time.Hour))}})
		c.must(err)
		_, err = subs.Seek(c.ctx, &pubsubpb.SeekRequest{Subscription: billing})
		c.fails(err, codes.InvalidArgument)
		updated, err := subs.UpdateSnapshot(c.ctx, &pubsubpb.UpdateSnapshotRequest{
			Snapshot: &pubsubpb.Snapshot{Name: early, Labels: map[string]string{"a": "b"}}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"labels"}},
		})
		c.must(err)
		if updated.GetLabels()["a"] != "b" {
			c.Errorf("updated to %v", updated)
		}
		listed := 0
		for _, err := range subs.ListSnapshots(c.ctx, &pubsubpb.ListSnapshotsRequest{Project: "projects/p", PageSize: 1}).All() {
			c.must(err)
			listed++
		}
		of, err := c.TopicAdminClient.ListTopicSnapshots(c.ctx, &pubsubpb.ListTopicSnapshotsRequest{Topic: orders}).Next()
		c.must(err)
		if listed != 2 || of != early {
			c.Errorf("listed %d, and %s first of the topic", listed, of)
		}
		c.must(subs.DeleteSnapshot(c.ctx, &pubsubpb.DeleteSnapshotRequest{Snapshot: early}))
		_, err = subs.GetSnapshot(c.ctx, &pubsubpb.GetSnapshotRequest{Snapshot: early})
		c.fails(err, codes.NotFound, early)
	})
}
