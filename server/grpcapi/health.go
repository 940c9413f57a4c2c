package grpcapi

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// health is gRPC's health service. All services are as ready as the server is. To watch it is not supported, which clients take
// for healthy.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	ready func(context.Context) (bool, []string)
	known func() map[string]grpc.ServiceInfo
}

// Check tells whether requests can be served.
func (h *health) Check(ctx context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if _, ok := h.known()[r.GetService()]; !ok && r.GetService() != "" {
		return nil, status.Errorf(codes.NotFound, "there is no service %q", r.GetService())
	}
	answer := &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}
	if ready, _ := h.ready(ctx); ready {
		answer.Status = grpc_health_v1.HealthCheckResponse_SERVING
	}
	return answer, nil
}
