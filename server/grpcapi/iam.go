package grpcapi

import (
	"context"

	"cloud.google.com/go/iam/apiv1/iampb"

	"postrider/server/rules"
)

// accessControl is google.iam.v1.IAMPolicy of a server that controls no access.
type accessControl struct {
	iampb.UnimplementedIAMPolicyServer
	backend Backend
}

// GetIamPolicy reads the policy of a resource.
func (a *accessControl) GetIamPolicy(ctx context.Context, r *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	return &iampb.Policy{}, rules.ReadPolicy(ctx, a.backend, r.GetResource())
}

// SetIamPolicy takes the policy that there is, an empty one.
func (a *accessControl) SetIamPolicy(ctx context.Context, r *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	return &iampb.Policy{}, rules.ReplacePolicy(ctx, a.backend, r.GetResource(), len(r.GetPolicy().GetBindings()) > 0)
}

// TestIamPermissions grants what is asked for.
func (a *accessControl) TestIamPermissions(ctx context.Context, r *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	granted, err := rules.Granted(ctx, a.backend, r.GetResource(), r.GetPermissions())
	return &iampb.TestIamPermissionsResponse{Permissions: granted}, err
}
