package port

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// BenchmarkServers shows what it costs that a call over TLS is served by net/http.
func BenchmarkServers(b *testing.B) {
	for name, protocols := range map[string][]string{"grpc-go": {"h2"}, "net-http": {"h2", "http/1.1"}} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, true)
			connection, err := grpc.NewClient(r.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(r.offering(protocols...))))
			r.must(err)
			defer connection.Close()
			client := grpc_health_v1.NewHealthClient(connection)
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := client.Check(b.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
