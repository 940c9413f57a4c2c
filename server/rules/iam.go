package rules

import (
	"context"
	"strings"

	"postrider/subscriptions"
)

// Access is not controlled: every policy is empty, and everybody may do everything with whatever exists.

// Resources are what policies are about.
type Resources interface {
	// GetTopic: INVALID_ARGUMENT, NOT_FOUND.
	GetTopic(context.Context, subscriptions.TopicName) (subscriptions.Topic, error)
	// GetSubscription: INVALID_ARGUMENT, NOT_FOUND.
	GetSubscription(context.Context, subscriptions.SubscriptionName) (subscriptions.Subscription, error)
	// GetSnapshot: INVALID_ARGUMENT, NOT_FOUND.
	GetSnapshot(context.Context, subscriptions.SnapshotName) (subscriptions.Snapshot, error)
}

// ReadPolicy is for a policy to be read: it fails unless the resource exists.
func ReadPolicy(ctx context.Context, all Resources, resource string) error {
	kind := strings.Split(resource, "/")
	switch {
	case len(kind) == 4 && kind[2] == "topics":
		name, err := subscriptions.ParseTopicName("resource", resource)
		if err == nil {
			_, err = all.GetTopic(ctx, name)
		}
		return err
	case len(kind) == 4 && kind[2] == "subscriptions":
		name, err := subscriptions.ParseSubscriptionName("resource", resource)
		if err == nil {
			_, err = all.GetSubscription(ctx, name)
		}
		return err
	case len(kind) == 4 && kind[2] == "snapshots":
		name, err := subscriptions.ParseSnapshotName("resource", resource)
		if err == nil {
			_, err = all.GetSnapshot(ctx, name)
		}
		return err
	case len(kind) == 4 && kind[2] == "schemas":
		return subscriptions.Errorf(subscriptions.NotFound, "%s does not exist", resource)
	}
	return subscriptions.Errorf(subscriptions.InvalidArgument, "resource: %q is not the name of a topic, subscription, snapshot or schema", resource)
}

// ReplacePolicy is for a policy to be replaced. Only the empty one can be set.
func ReplacePolicy(ctx context.Context, all Resources, resource string, bindings bool) error {
	if err := ReadPolicy(ctx, all, resource); err != nil {
		return err
	}
	if bindings {
		return subscriptions.Unbuilt("policy.bindings")
	}
	return nil
}

// Granted are those of the permissions that a caller has: all of them, and none on what does not exist, which is no error.
func Granted(ctx context.Context, all Resources, resource string, asked []string) ([]string, error) {
	err := ReadPolicy(ctx, all, resource)
	switch {
	case subscriptions.CodeOf(err) == subscriptions.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return asked, nil
}
