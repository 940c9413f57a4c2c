package subscriptions

import (
	"context"
	"slices"
)

// Endpoints says where pushes may go. The domain only asks, to tell who creates
// or changes a subscription; who pushes must judge each connection.
type Endpoints interface {
	// CheckEndpoint fails when pushes to a URL would be refused as things are.
	// INVALID_ARGUMENT, with the reason.
	CheckEndpoint(ctx context.Context, endpoint string) error
}

// checkEndpoint asks whether a subscription's endpoint may be pushed to.
func (s *Service) checkEndpoint(ctx context.Context, sub Subscription) error {
	if s.endpoints == nil || sub.Push == nil {
		return nil
	}
	return s.endpoints.CheckEndpoint(ctx, sub.Push.Endpoint)
}

// setsEndpoint tells whether a change is about the endpoint. Other changes are no
// occasion to judge it anew: it may have been allowed when it was set.
func setsEndpoint(mask []string) bool {
	return slices.ContainsFunc(mask, func(path string) bool {
		path = camelCase(path)
		return path == "pushConfig" || path == "pushConfig.pushEndpoint"
	})
}
