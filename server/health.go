package server

import (
	"bytes"
	"context"
	"strings"

	"postrider/server/api"
	"postrider/subscriptions"
)

// GetOpenAPI hands out the contract.
func (h *handler) GetOpenAPI(context.Context, api.GetOpenAPIRequestObject) (api.GetOpenAPIResponseObject, error) {
	return api.GetOpenAPI200ApplicationYamlResponse{
		Body:          bytes.NewReader(h.options.OpenAPI),
		ContentLength: int64(len(h.options.OpenAPI)),
	}, nil
}

// GetHealth tells that the process answers, whatever the store does: a restart would not mend the store.
func (h *handler) GetHealth(context.Context, api.GetHealthRequestObject) (api.GetHealthResponseObject, error) {
	return api.GetHealth200JSONResponse{Status: "ok"}, nil
}

// GetReadiness tells whether requests can be served.
func (h *handler) GetReadiness(ctx context.Context, _ api.GetReadinessRequestObject) (api.GetReadinessResponseObject, error) {
	ready, reasons := h.options.Ready(ctx)
	if !ready {
		return nil, subscriptions.Errorf(subscriptions.Unavailable, "not ready: %s", strings.Join(reasons, "; "))
	}
	return api.GetReadiness200JSONResponse{Status: "ok", Warnings: reasons}, nil
}
