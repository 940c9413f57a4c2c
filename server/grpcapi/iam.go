package grpcapi

import (
	"context"
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"

	"postrider/subscriptions"
)

// accessControl is google.iam.v1.IAMPolicy of a server that controls no access: every policy is empty, and everybody may do
// everything.
type accessControl struct {
	iampb.UnimplementedIAMPolicyServer
	backend Backend
}

// GetIamPolicy reads the policy of a topic or subscription.
func (a *accessControl) GetIamPolicy(ctx context.Context, r *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	if err := a.exists(ctx, r.GetResource()); err != nil {
		return nil, err
	}
	return &iampb.Policy{}, nil
}

// SetIamPolicy takes the policy that there is, an empty one.
func (a *accessControl) SetIamPolicy(ctx context.Context, r *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	if err := a.exists(ctx, r.GetResource()); err != nil {
		return nil, err
	}
	if len(r.GetPolicy().GetBindings()) > 0 {
		return nil, subscriptions.Unbuilt("policy.bindings")
	}
	return &iampb.Policy{}, nil
}

// TestIamPermissions grants what is asked for, and nothing on what does not exist.
func (a *accessControl) TestIamPermissions(ctx context.Context, r *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	err := a.exists(ctx, r.GetResource())
	switch {
	case subscriptions.CodeOf(err) == subscriptions.NotFound:
		return &iampb.TestIamPermissionsResponse{}, nil
	case err != nil:
		return nil, err
	}
	return &iampb.TestIamPermissionsResponse{Permissions: r.GetPermissions()}, nil
}

// exists fails with NOT_FOUND unless there is such a topic or subscription.
func (a *accessControl) exists(ctx context.Context, resource string) error {
	kind := strings.Split(resource, "/")
	switch {
	case len(kind) == 4 && kind[2] == "topics":
		name, err := subscriptions.ParseTopicName("resource", resource)
		if err == nil {
			_, err = a.backend.GetTopic(ctx, name)
		}
		return err
	case len(kind) == 4 && kind[2] == "subscriptions":
		name, err := subscriptions.ParseSubscriptionName("resource", resource)
		if err == nil {
			_, err = a.backend.GetSubscription(ctx, name)
		}
		return err
	case len(kind) == 4 && (kind[2] == "snapshots" || kind[2] == "schemas"):
		return subscriptions.Errorf(subscriptions.NotFound, "%s does not exist", resource)
	}
	return subscriptions.Errorf(subscriptions.InvalidArgument, "resource: %q is not the name of a topic, subscription, snapshot or schema", resource)
}
