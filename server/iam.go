package server

import (
	"context"
	"strings"

	"postrider/server/api"
	"postrider/server/rules"
)

// The three methods of IAM, for each kind of resource. What they do is package rules' to say.

func (h *handler) readPolicy(ctx context.Context, resource ...string) (api.Policy, error) {
	return api.Policy{}, rules.ReadPolicy(ctx, h.backend, resourceName(resource))
}

func (h *handler) replacePolicy(ctx context.Context, body api.SetIamPolicyRequest, resource ...string) (api.Policy, error) {
	bindings := body.Policy != nil && len(body.Policy.Bindings) > 0
	return api.Policy{}, rules.ReplacePolicy(ctx, h.backend, resourceName(resource), bindings)
}

func (h *handler) granted(ctx context.Context, body api.TestIamPermissionsRequest, resource ...string) (api.TestIamPermissionsResponse, error) {
	granted, err := rules.Granted(ctx, h.backend, resourceName(resource), body.Permissions)
	return api.TestIamPermissionsResponse{Permissions: granted}, err
}

// resourceName is projects/PROJECT/KIND/ID of the last three.
func resourceName(parts []string) string { return "projects/" + strings.Join(parts, "/") }

// GetTopicIamPolicy reads the policy of a topic.
func (h *handler) GetTopicIamPolicy(ctx context.Context, r api.GetTopicIamPolicyRequestObject) (api.GetTopicIamPolicyResponseObject, error) {
	policy, err := h.readPolicy(ctx, r.Project, "topics", r.Topic)
	return api.GetTopicIamPolicy200JSONResponse(policy), err
}

// SetTopicIamPolicy replaces the policy of a topic.
func (h *handler) SetTopicIamPolicy(ctx context.Context, r api.SetTopicIamPolicyRequestObject) (api.SetTopicIamPolicyResponseObject, error) {
	policy, err := h.replacePolicy(ctx, *r.Body, r.Project, "topics", r.Topic)
	return api.SetTopicIamPolicy200JSONResponse(policy), err
}

// TestTopicIamPermissions tells which permissions a caller has on a topic.
func (h *handler) TestTopicIamPermissions(ctx context.Context, r api.TestTopicIamPermissionsRequestObject) (api.TestTopicIamPermissionsResponseObject, error) {
	granted, err := h.granted(ctx, *r.Body, r.Project, "topics", r.Topic)
	return api.TestTopicIamPermissions200JSONResponse(granted), err
}

// GetSubscriptionIamPolicy reads the policy of a subscription.
func (h *handler) GetSubscriptionIamPolicy(ctx context.Context, r api.GetSubscriptionIamPolicyRequestObject) (api.GetSubscriptionIamPolicyResponseObject, error) {
	policy, err := h.readPolicy(ctx, r.Project, "subscriptions", r.Subscription)
	return api.GetSubscriptionIamPolicy200JSONResponse(policy), err
}

// SetSubscriptionIamPolicy replaces the policy of a subscription.
func (h *handler) SetSubscriptionIamPolicy(ctx context.Context, r api.SetSubscriptionIamPolicyRequestObject) (api.SetSubscriptionIamPolicyResponseObject, error) {
	policy, err := h.replacePolicy(ctx, *r.Body, r.Project, "subscriptions", r.Subscription)
	return api.SetSubscriptionIamPolicy200JSONResponse(policy), err
}

// TestSubscriptionIamPermissions tells which permissions a caller has on a subscription.
func (h *handler) TestSubscriptionIamPermissions(ctx context.Context, r api.TestSubscriptionIamPermissionsRequestObject) (api.TestSubscriptionIamPermissionsResponseObject, error) {
	granted, err := h.granted(ctx, *r.Body, r.Project, "subscriptions", r.Subscription)
	return api.TestSubscriptionIamPermissions200JSONResponse(granted), err
}

// GetSnapshotIamPolicy reads the policy of a snapshot.
func (h *handler) GetSnapshotIamPolicy(ctx context.Context, r api.GetSnapshotIamPolicyRequestObject) (api.GetSnapshotIamPolicyResponseObject, error) {
	policy, err := h.readPolicy(ctx, r.Project, "snapshots", r.Snapshot)
	return api.GetSnapshotIamPolicy200JSONResponse(policy), err
}

// SetSnapshotIamPolicy replaces the policy of a snapshot.
func (h *handler) SetSnapshotIamPolicy(ctx context.Context, r api.SetSnapshotIamPolicyRequestObject) (api.SetSnapshotIamPolicyResponseObject, error) {
	policy, err := h.replacePolicy(ctx, *r.Body, r.Project, "snapshots", r.Snapshot)
	return api.SetSnapshotIamPolicy200JSONResponse(policy), err
}

// TestSnapshotIamPermissions tells which permissions a caller has on a snapshot.
func (h *handler) TestSnapshotIamPermissions(ctx context.Context, r api.TestSnapshotIamPermissionsRequestObject) (api.TestSnapshotIamPermissionsResponseObject, error) {
	granted, err := h.granted(ctx, *r.Body, r.Project, "snapshots", r.Snapshot)
	return api.TestSnapshotIamPermissions200JSONResponse(granted), err
}

// GetSchemaIamPolicy reads the policy of a schema.
func (h *handler) GetSchemaIamPolicy(ctx context.Context, r api.GetSchemaIamPolicyRequestObject) (api.GetSchemaIamPolicyResponseObject, error) {
	policy, err := h.readPolicy(ctx, r.Project, "schemas", r.Schema)
	return api.GetSchemaIamPolicy200JSONResponse(policy), err
}

// SetSchemaIamPolicy replaces the policy of a schema.
func (h *handler) SetSchemaIamPolicy(ctx context.Context, r api.SetSchemaIamPolicyRequestObject) (api.SetSchemaIamPolicyResponseObject, error) {
	policy, err := h.replacePolicy(ctx, *r.Body, r.Project, "schemas", r.Schema)
	return api.SetSchemaIamPolicy200JSONResponse(policy), err
}

// TestSchemaIamPermissions tells which permissions a caller has on a schema.
func (h *handler) TestSchemaIamPermissions(ctx context.Context, r api.TestSchemaIamPermissionsRequestObject) (api.TestSchemaIamPermissionsResponseObject, error) {
	granted, err := h.granted(ctx, *r.Body, r.Project, "schemas", r.Schema)
	return api.TestSchemaIamPermissions200JSONResponse(granted), err
}
