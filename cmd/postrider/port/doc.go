// Package port lets REST and gRPC share a port, in the clear or over TLS.
//
// Each kind of connection gets to a server made for it. net/http can serve gRPC, too, at less than half the speed (over TLS,
// one message a call and 32 callers: see BenchmarkServers), so it does that only where it must:
//
//	begins with                                             goes to
//	HTTP/1                                                  net/http
//	HTTP/2, by a client that would have taken HTTP/1 (TLS)  net/http: a browser, curl. No gRPC client offers that
//	HTTP/2, and a first request of gRPC                     grpc-go's server
//	HTTP/2, and any other first request                     net/http
//	HTTP/2, and a first request that came by way of a proxy net/http, which serves both kinds
//	HTTP/2, and no request for some seconds                 grpc-go's server
//
// A proxy may send requests of both kinds over one connection, which grpc-go's server would refuse; gRPC clients do not.
package port
